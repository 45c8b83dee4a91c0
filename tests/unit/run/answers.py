"""Answers to the assignments, for `test_assignments`: other right ways, and wrong ones.

`ANSWERS[assignment][task]` is a dict of lists: "right" (every test cell of the task passes), "nothing" (none passes),
"wrong" (at least one fails) and "partial", pairs of the test cells that fail, separated by blanks, and an answer. An
answer takes the place of the whole solution cell. The test adds answers that know the visible tests by heart.
"""

ANNEALING = {
    "task-1": {
        "right": ["def entropy_bits(p):\n    return sum(x * np.log2(1 / x) for x in p if x > 0)"],
        "nothing": ["def entropy_bits(p):\n    p = np.array(p)[np.array(p) > 0]\n    return -(p @ np.log(p))"],
        "partial": [("test-1-edge", "def entropy_bits(p):\n    return -(np.array(p) * np.log2(p)).sum()")],
    },
    "task-2": {
        "right": [
            """
def gibbs_distribution(costs, beta):
    scores = [-beta * cost for cost in costs]
    weights = [np.exp(score - max(scores)) for score in scores]
    return [weight / sum(weights) for weight in weights]
""",
        ],
        "nothing": ["def gibbs_distribution(costs, beta):\n    return np.full(len(costs), 1 / len(costs))"],
        "partial": [
            (
                "test-2-edge",
                "def gibbs_distribution(costs, beta):\n    w = np.exp(-beta * np.array(costs))\n    return w / w.sum()",
            ),
        ],
    },
    "task-3": {
        "right": [
            """
def thermodynamics(costs, beta):
    p = gibbs_distribution(costs, beta)
    p, costs = np.array(p), np.array(costs)
    nats = -(p[p > 0] * np.log(p[p > 0])).sum()
    return [nats - beta * (p * costs).sum(), (p * costs).sum(), nats]
"""
        ],
        "nothing": [
            """
def thermodynamics(costs, beta):
    costs = np.asarray(costs, float)
    p = gibbs_distribution(costs, beta)
    log_Z = np.log2(np.exp(-beta * (costs - costs.min())).sum())
    return log_Z, p @ costs, log_Z + beta * (p @ costs)
"""
        ],
        "partial": [
            (
                "test-3-edge",
                """
def thermodynamics(costs, beta):
    log_Z = np.log(np.exp(-beta * np.array(costs)).sum())
    mean = gibbs_distribution(costs, beta) @ np.array(costs)
    return log_Z, mean, log_Z + beta * mean
""",
            )
        ],
    },
    "task-4": {
        "right": [
            "def assignment_probabilities(X, centroids, beta):\n"
            "    rows = [((centroids - x) ** 2).sum(axis=1) for x in X]\n"
            "    return [gibbs_distribution(row, beta) for row in rows]"
        ],
        "nothing": [  # distances instead of their squares
            "def assignment_probabilities(X, centroids, beta):\n"
            "    h = np.sqrt(((X[:, None] - centroids) ** 2).sum(axis=2))\n"
            "    return np.array([gibbs_distribution(row, beta) for row in h])"
        ],
        "partial": [
            (
                "test-4-edge",
                "def assignment_probabilities(X, centroids, beta):\n"
                "    w = np.exp(-beta * ((X[:, None] - centroids) ** 2).sum(axis=2))\n"
                "    return w / w.sum(axis=1, keepdims=True)",
            )
        ],
    },
    "task-5": {
        "right": [
            """
def new_centroids(X, P, old):
    new = []
    for k, column in enumerate(np.transpose(P)):
        new.append(np.average(X, axis=0, weights=column) if column.any() else old[k])
    return new
"""
        ],
        "nothing": ["def new_centroids(X, P, old):\n    return P.T @ X / len(X)"],
        "partial": [
            ("test-5-edge", "def new_centroids(X, P, old):\n    return P.T @ X / P.sum(axis=0)[:, None]"),
            (  # right numbers, written over what was given
                "test-5-edge",
                "def new_centroids(X, P, old):\n"
                "    for k in range(len(old)):\n"
                "        if P[:, k].sum() > 0:\n"
                "            old[k] = P[:, k] @ X / P[:, k].sum()\n"
                "    return old",
            ),
        ],
    },
    "task-6": {
        "right": [
            """
def anneal(X, n_clusters, betas, rng):
    size = np.linalg.norm(X - X.mean(axis=0)) / np.sqrt(len(X))
    Y, out = np.array([X.mean(axis=0)] * n_clusters), []
    for beta in betas:
        Y, rounds, moved = Y + rng.normal(0, 1e-3 * size, Y.shape), 0, np.inf
        while moved > 1e-6 * size and rounds < 1000:
            h = (X**2).sum(axis=1)[:, None] - 2 * X @ Y.T + (Y**2).sum(axis=1)
            P = np.exp(-beta * (h - h.min(axis=1)[:, None]))
            P /= P.sum(axis=1)[:, None]
            mass = P.sum(axis=0)[:, None]
            old, Y = Y, np.where(mass > 0, P.T @ X / np.where(mass > 0, mass, 1), Y)
            rounds, moved = rounds + 1, abs(Y - old).max()
        out.append(Y)
    return out
"""
        ],
        "nothing": [
            # the cold end alone
            """
def anneal(X, n_clusters, betas, rng):
    Y = np.tile(X.mean(axis=0), (n_clusters, 1))
    for beta in betas:
        Y = Y + 1e-3 * X.std() * rng.standard_normal(Y.shape)
        for _ in range(300):
            Y = new_centroids(X, assignment_probabilities(X, Y, beta), Y)
    return Y
""",
        ],
        "partial": [
            # without a push copies never part: a fixed point at every temperature, but no tree
            (
                "test-6 test-6-edge",
                """
def anneal(X, n_clusters, betas, rng):
    return np.tile(X.mean(axis=0), (len(betas), n_clusters, 1))
""",
            ),
            (  # plain k-means at every temperature
                "test-6",
                """
def anneal(X, n_clusters, betas, rng):
    Y = X[rng.choice(len(X), n_clusters, replace=False)]
    for _ in range(100):
        Y = new_centroids(X, assignment_probabilities(X, Y, 1e9), Y)
    return np.array([Y for beta in betas])
""",
            ),
        ],
    },
    "task-7": {
        "right": [
            """
def first_split(X):
    return 0.5 / max(np.linalg.eigvals(np.cov(X, rowvar=False, bias=True).reshape(X.shape[1], -1)).real)


def measured_split(X, betas, path):
    size, apart = np.sqrt(np.var(X, axis=0).sum()), []
    for beta, Y in zip(betas, path):
        apart += [beta for a in Y for b in Y if np.linalg.norm(a - b) > 0.1 * size]
    return min(apart, default=np.inf)
"""
        ],
        "nothing": [  # a sample's covariance (N - 1), and the first step
            """
def first_split(X):
    return 0.5 / np.linalg.eigvalsh(np.cov(X.T).reshape(X.shape[1], -1))[-1]


def measured_split(X, betas, path):
    return betas[0]
"""
        ],
        "partial": [
            (  # a distance in units of the data instead of their spread
                "test-7-measured",
                """
def first_split(X):
    return 0.5 / np.linalg.eigvalsh(np.cov(X.T, bias=True).reshape(X.shape[1], -1))[-1]


def measured_split(X, betas, path):
    for beta, Y in zip(betas, path):
        if np.ptp(Y, axis=0).max() > 0.1:
            return beta
    return np.inf
""",
            )
        ],
    },
}

CODE = {
    "task-1": {
        "right": [
            """
def binary_information(delta, betas):
    J = []
    for beta in betas:
        log_Z = np.logaddexp(0, -beta)
        log_S, log_D = np.logaddexp(0, -2 * beta) - 2 * log_Z, np.log(2) - beta - 2 * log_Z
        J.append(1 + ((1 - delta) * log_S + delta * log_D) / np.log(2))
    return J
"""
        ],
        "nothing": [  # one side only
            "def binary_information(delta, betas):\n"
            "    p = 1 / (1 + np.exp(-betas))\n"
            "    return 1 + (1 - delta) * np.log2(p) + delta * (np.log2(p) - betas / np.log(2))"
        ],
        "partial": [
            (
                "test-1-edge",
                "def binary_information(delta, betas):\n"
                "    p = 1 / (1 + np.exp(-betas))\n"
                "    S = p**2 + (1 - p) ** 2\n"
                "    return 1 + (1 - delta) * np.log2(S) + delta * np.log2(1 - S)",
            )
        ],
    },
    "task-2": {
        "right": [
            """
def code_capacity(K, delta):
    p = np.linspace(1 / K, 1, 200_001)  # every beta >= 0
    S = p**2 + (1 - p) ** 2 / (K - 1)
    J = np.log2(K) + (1 - delta) * np.log2(S)
    if delta > 0:
        J[:-1] += delta * np.log2((1 - S[:-1]) / (K - 1))
        J[-1] = -np.inf
    return max(J)
"""
        ],
        "nothing": [  # natural logarithms
            "def code_capacity(K, delta):\n"
            "    return np.log(K) + (1 - delta) * np.log(1 - delta) + delta * np.log(delta / (K - 1))"
        ],
        "partial": [
            (  # Shannon's formula beyond chance, and 0 log 0
                "test-2-edge",
                "def code_capacity(K, delta):\n"
                "    return np.log2(K) + (1 - delta) * np.log2(1 - delta) + delta * np.log2(delta / (K - 1))",
            )
        ],
    },
    "task-3": {
        "right": [
            """
def assignment_table(word, K, beta):
    p = 1 / (1 + (K - 1) * np.exp(-beta))
    return [[p if k == symbol else (1 - p) / (K - 1) for k in range(K)] for symbol in word]
"""
        ],
        "nothing": ["def assignment_table(word, K, beta):\n    return np.eye(K)[word]"],
    },
    "task-4": {
        "right": [
            """
def log2_overlap(h1, h2, beta):
    found = []
    for a, b in zip(-beta * h1, -beta * h2):
        sums = [np.logaddexp.reduce(scores) for scores in (a + b, a, b)]
        found.append((sums[0] - sums[1] - sums[2]) / np.log(2))
    return found
"""
        ],
        "nothing": [
            # without the two sums that make probabilities of weights
            "def log2_overlap(h1, h2, beta):\n    return np.logaddexp.reduce(-beta * (h1 + h2), axis=1) / np.log(2)"
        ],
        "partial": [
            (
                "test-4-edge",
                "def log2_overlap(h1, h2, beta):\n"
                "    a, b = np.exp(-beta * h1), np.exp(-beta * h2)\n"
                "    return np.log2((a * b).sum(axis=1) / a.sum(axis=1) / b.sum(axis=1))",
            )
        ],
    },
    "task-5": {
        "right": [
            """
def best_renaming(P1, P2):
    overlap = P1.T @ P2
    orders = itertools.permutations(range(len(overlap)))
    return max(orders, key=lambda order: sum(overlap[k, l] for k, l in enumerate(order)))
"""
        ],
        "nothing": [  # the renaming of the first run
            "def best_renaming(P1, P2):\n    return linear_sum_assignment(P2.T @ P1, maximize=True)[1]"
        ],
        "partial": [
            # the best column for each, which two may want
            ("test-5 test-5-edge", "def best_renaming(P1, P2):\n    return np.argmax(P1.T @ P2, axis=1)"),
            (  # greedy
                "test-5 test-5-edge",
                "def best_renaming(P1, P2):\n"
                "    C, order = P1.T @ P2, {}\n"
                "    for _ in range(len(C)):\n"
                "        k, l = np.unravel_index(C.argmax(), C.shape)\n"
                "        order[k], C[k], C[:, l] = l, -1, -1\n"
                "    return [order[k] for k in range(len(C))]",
            ),
        ],
    },
    "task-6": {
        "right": [
            """
def capacity(path1, path2):
    sizes, best = np.mean(path1[-1], axis=0), (-np.inf, 0)
    H = -sum(p * np.log2(p) for p in sizes if p > 0)
    for t in range(len(path1)):
        Q = path2[t][:, linear_sum_assignment(-(path1[t].T @ path2[t]))[1]]
        J = H + np.mean(np.log(np.einsum("ik,ik->i", path1[t], Q))) / np.log(2)
        best = max(best, (J, t))
    return [max(best[0], 0), best[1]]
"""
        ],
        "nothing": [  # clusters are not renamed, and H is that of equal ones
            """
def capacity(path1, path2):
    J = np.log2((path1 * path2).sum(axis=2)).mean(axis=1) + np.log2(path1.shape[2])
    return J.max(), J.argmax()
"""
        ],
        "partial": [
            (  # never below 0 was forgotten
                "test-6-edge",
                """
def capacity(path1, path2):
    J = []
    for P, Q in zip(path1, path2):
        J.append(np.log2((P * Q[:, best_renaming(P, Q)]).sum(axis=1)).mean())
    J = np.array(J) + gc.trajectory.entropy_bits(path1[-1].mean(axis=0))
    return J.max(), J.argmax()
""",
            ),
            (  # an entropy that breaks at an empty cluster
                "test-6-edge",
                """
def capacity(path1, path2):
    p, J = path1[-1].mean(axis=0), []
    for P, Q in zip(path1, path2):
        J.append(np.log2((P * Q[:, best_renaming(P, Q)]).sum(axis=1)).mean() - (p * np.log2(p)).sum())
    return max(0, max(J)), np.argmax(J)
""",
            ),
        ],
    },
}

CLUSTERS = {
    "task-1": {
        "right": [
            """
def disagreement(labels, X):
    cost = 0
    for i in range(len(X)):
        for j in range(i):
            together = labels[i] == labels[j]
            cost += max(-X[i, j], 0) if together else max(X[i, j], 0)
    return cost
"""
        ],
        "nothing": [  # every pair twice
            "def disagreement(labels, X):\n"
            "    same = np.equal.outer(labels, labels)\n"
            "    return (abs(X) * (same == (X < 0))).sum()"
        ],
        "partial": [
            (
                "test-1-edge",  # counts links instead of their weights
                "def disagreement(labels, X):\n"
                "    same = np.equal.outer(labels, labels)\n"
                "    return np.triu(same == (X < 0), 1).sum()",
            ),
            (
                "test-1-edge",  # labels as places of an array, and the diagonal
                "def disagreement(labels, X):\n"
                "    Z = np.eye(len(X))[labels]\n"
                "    return np.maximum(np.where(Z @ Z.T > 0, -X, X), 0).sum() / 2",
            ),
        ],
    },
    "task-2": {
        "right": [
            """
def mean_field_sweep(X, Q, beta):
    new = [list(row) for row in Q]
    for i in range(len(new)):
        score = [beta * sum(X[i][j] * new[j][k] for j in range(len(new)) if j != i) for k in range(len(new[0]))]
        weights = [np.exp(s - max(score)) for s in score]
        new[i] = [w / sum(weights) for w in weights]
    return new
"""
        ],
        "nothing": [  # all objects at once, from the old probabilities
            """
def mean_field_sweep(X, Q, beta):
    scores = beta * (X - np.diag(np.diag(X))) @ Q
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
"""
        ],
        "partial": [
            (
                "test-2-edge",
                """
def mean_field_sweep(X, Q, beta):
    for i in range(len(X)):
        weights = np.exp(beta * X[i] @ Q)
        Q[i] = weights / weights.sum()
    return Q
""",
            )
        ],
    },
    "task-3": {
        "right": [
            """
def together(X, n_clusters, beta):
    Z, found = 0.0, np.zeros((len(X), len(X)))
    for c in itertools.product(range(n_clusters), repeat=len(X)):
        weight = np.exp(-beta * disagreement(np.array(c), X))
        Z += weight
        for i in range(len(X)):
            for j in range(len(X)):
                found[i, j] += weight * (c[i] == c[j])
    return (found / Z).tolist()
"""
        ],
        "nothing": [  # forgets the weights
            "def together(X, n_clusters, beta):\n    return np.where(np.eye(len(X)), 1, 1 / n_clusters)"
        ],
    },
    "task-4": {
        "right": [
            """
def largest_noise(n_objects, n_groups, complexity):
    for eta in np.linspace(1, 0, 1_000_001):
        if (1 - eta) * (2 - 2 * complexity) * n_objects / n_groups >= n_objects**0.5:
            return eta
    return 0
"""
        ],
        "nothing": [
            "def largest_noise(n_objects, n_groups, complexity):\n"
            "    return 1 - n_groups / (2 - 2 * complexity) / np.sqrt(n_objects)"
        ],
    },
    "task-5": {
        "right": [
            """
def graph_capacity(graphs, n_clusters, seed):
    words = {"progress": False}
    model = gc.CorrelationClustering(random_state=seed)
    return gc.select_n_clusters(model, *graphs, [n_clusters], **words).capacities[0]
"""
        ],
        "nothing": ["def graph_capacity(graphs, n_clusters, seed):\n    return np.log2(n_clusters)"],
        "partial": [
            (  # agreement of a graph with itself
                "test-5-null",
                """
def graph_capacity(graphs, n_clusters, seed):
    run = gc.CorrelationClustering(n_clusters, random_state=seed).anneal(graphs[0])
    return gc.generalization_capacity(run, run).value
""",
            ),
        ],
    },
    "task-6": {
        "right": [
            """
def choose(offered, capacities, tolerance):
    for k in sorted(offered):
        if max(capacities) - capacities[list(offered).index(k)] <= tolerance:
            return k
"""
        ],
        "nothing": ["def choose(offered, capacities, tolerance):\n    return offered[int(np.argmax(capacities))]"],
        "partial": [
            (  # the first offered one, not the smallest
                "test-6-edge",
                "def choose(offered, capacities, tolerance):\n"
                "    good = np.array(capacities) >= max(capacities) - tolerance\n"
                "    return offered[int(np.argmax(good))]",
            )
        ],
    },
    "task-7": {
        "right": [
            """
def equal_cost_shift(X, one, other):
    def line(labels):
        same = np.triu(np.equal.outer(labels, labels), 1)
        return -(X * same).sum(), same.sum()

    (a, m), (b, n) = line(one), line(other)
    return (a - b) / (m - n) if m != n else float("nan")
"""
        ],
        "nothing": [  # the sign
            """
def equal_cost_shift(X, one, other):
    m, n = (np.triu(np.equal.outer(labels, labels), 1).sum() for labels in (one, other))
    return np.nan if m == n else (disagreement(one, X) - disagreement(other, X)) / (int(n) - int(m))
"""
        ],
        "partial": [
            (
                "test-7-edge",
                """
def equal_cost_shift(X, one, other):
    m, n = (np.triu(np.equal.outer(labels, labels), 1).sum() for labels in (one, other))
    return (disagreement(one, X) - disagreement(other, X)) / (int(m) - int(n))
""",
            )
        ],
    },
}

TRANSFER = {
    "task-1": {
        "right": [
            """
def transfer_cost(X2, centroids, M):
    cost = 0.0
    for x, row in zip(X2, M):
        cost += sum(m * np.dot(x - y, x - y) for m, y in zip(row, centroids))
    return cost / len(X2)
"""
        ],
        "nothing": [  # the mean over the table
            "def transfer_cost(X2, centroids, M):\n    return (M * ((X2[:, None] - centroids) ** 2).sum(axis=2)).mean()"
        ],
    },
    "task-2": {
        "right": [
            """
def generative(labels1, n_clusters):
    return [[int(k == label) for k in range(n_clusters)] for label in labels1]


def nearest_centroid(X2, centroids):
    best = [min(range(len(centroids)), key=lambda k: np.linalg.norm(x - centroids[k])) for x in X2]
    return generative(best, len(centroids))


def nearest_object(X1, labels1, X2, n_clusters):
    partners = [np.argmin(np.linalg.norm(X1 - x, axis=1)) for x in X2]
    return generative([labels1[i] for i in partners], n_clusters)
"""
        ],
        "nothing": [
            """
def generative(labels1, n_clusters):
    return np.full((len(labels1), n_clusters), 1 / n_clusters)


def nearest_centroid(X2, centroids):
    return np.eye(len(centroids))[np.zeros(len(X2), int)]


def nearest_object(X1, labels1, X2, n_clusters):
    return np.eye(n_clusters)[labels1]
"""
        ],
        "partial": [
            (
                "test-2-object",  # the other way round
                """
def generative(labels1, n_clusters):
    return np.eye(n_clusters)[labels1]


def nearest_centroid(X2, centroids):
    h = ((X2[:, None] - centroids) ** 2).sum(axis=2)
    return 1 * (h == h.min(axis=1, keepdims=True))


def nearest_object(X1, labels1, X2, n_clusters):
    return np.eye(n_clusters)[labels1[((X1[:, None] - X2) ** 2).sum(axis=2).argmin(axis=1) % len(X1)]]
""",
            )
        ],
    },
    "task-3": {
        "right": [
            """
def soft(X1, X2, centroids, factor):
    beta, rows = factor / np.var(X1, axis=0).sum(), []
    for x in X2:
        score = [-beta * np.sum((x - y) ** 2) for y in centroids]
        rows.append(np.exp(np.array(score) - np.logaddexp.reduce(score)))
    return rows
"""
        ],
        "nothing": [  # the sum in place of the mean
            """
def soft(X1, X2, centroids, factor):
    beta = factor / ((X1 - X1.mean(axis=0)) ** 2).sum()
    h = ((X2[:, None] - centroids) ** 2).sum(axis=2)
    weights = np.exp(-beta * h)
    return weights / weights.sum(axis=1, keepdims=True)
"""
        ],
        "partial": [
            (
                "test-3-edge",
                """
def soft(X1, X2, centroids, factor):
    weights = np.exp(-factor / X1.var(axis=0).sum() * ((X2[:, None] - centroids) ** 2).sum(axis=2))
    return weights / weights.sum(axis=1, keepdims=True)
""",
            )
        ],
    },
    "task-4": {
        "right": [
            """
def optimism(n_objects, n_clusters, n_features, variance):
    per_group = n_objects / n_clusters
    error = n_features * variance / per_group
    return (n_features * variance + error) - (n_features * variance - error)
"""
        ],
        "nothing": [
            "def optimism(n_objects, n_clusters, n_features, variance):\n"
            "    return n_clusters * n_features * variance / n_objects"
        ],
    },
    "task-5": {
        "right": [
            """
def transfer_curves(X1, X2, offered, seed):
    first, second = [], []
    for k in offered:
        model = KMeans(n_clusters=k, n_init=5, random_state=seed)
        labels = model.fit_predict(X1)
        h = model.transform(X2) ** 2
        first.append(np.mean([row[label] for row, label in zip(h, labels)]))
        second.append(np.mean(h.min(axis=1)))
    return [first, second]
"""
        ],
        "nothing": [  # the cost on the old data
            """
def transfer_curves(X1, X2, offered, seed):
    fits = [KMeans(k, n_init=5, random_state=seed).fit(X1) for k in offered]
    return np.array([[fit.inertia_ / len(X1) for fit in fits]] * 2)
"""
        ],
        "partial": [
            (  # in ascending order
                "test-5-edge",
                """
def transfer_curves(X1, X2, offered, seed):
    rows = []
    for k in sorted(offered):
        fit = KMeans(k, n_init=5, random_state=seed).fit(X1)
        h = fit.transform(X2) ** 2
        rows.append((h[np.arange(len(h)), fit.labels_].mean(), h.min(axis=1).mean()))
    return np.transpose(rows)
""",
            )
        ],
    },
    "task-6": {
        "right": [
            """
def mixture_bic(mixture, X):
    n, d = np.shape(X)
    free = mixture.n_components * (d + 2) - 1
    return free * np.log(n) - 2 * mixture.score(X) * n
"""
        ],
        "nothing": [
            "def mixture_bic(mixture, X):\n    return mixture.bic(X)",  # objects without it are handed over
            "def mixture_bic(mixture, X):\n    return -2 * mixture.score(X) + np.log(len(X))",
        ],
    },
    "task-7": {
        "right": [
            """
def share_right(noise, n_objects, n_draws, rng):
    transfer, bic = [], []
    for _ in range(n_draws):
        X1, X2 = draw_pair(noise, n_objects, rng)
        h, charged = {}, {}
        for k in range(1, 6):
            fit = KMeans(k, n_init=5, random_state=7).fit(X1)
            h[k] = ((X2 - fit.cluster_centers_[fit.labels_]) ** 2).sum()
            how = {"covariance_type": "spherical", "n_init": 2, "random_state": 0}
            charged[k] = GaussianMixture(k, **how).fit(X1).bic(X1)
        transfer.append(min(h, key=h.get) == 3)
        bic.append(min(charged, key=charged.get) == 3)
    return np.mean(transfer), np.mean(bic)
"""
        ],
        "nothing": [
            # what the figure of somebody else shows
            "def share_right(noise, n_objects, n_draws, rng):\n    return float(noise < 0.5), float(noise < 0.3)",
            """
def share_right(noise, n_objects, n_draws, rng):
    right = 0
    for _ in range(n_draws):  # the nearest centroid, and nobody else
        X1, X2 = draw_pair(noise, n_objects, rng)
        right += np.argmin(transfer_curves(X1, X2, range(1, 6), 0)[1]) == 2
    return right / n_draws, 0.0
""",
        ],
    },
}

BOTTLENECK = {
    "task-1": {
        "right": [
            """
import math

def mutual_information(table):
    total = sum(sum(row) for row in table)
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table)]
    bits = 0.0
    for a, row in enumerate(table):
        for b, n in enumerate(row):
            if n > 0:
                bits += n / total * math.log2(n * total / (rows[a] * columns[b]))
    return bits
""",
            """
def mutual_information(table):
    n = np.array(table, dtype=float)
    n = n / n.sum()
    def entropy(p):
        return -np.sum(p[p > 0] * np.log2(p[p > 0]))
    return entropy(n.sum(axis=0)) + entropy(n.sum(axis=1)) - entropy(n)
""",
        ],
        "wrong": [
            "def mutual_information(table):\n    return 0.278072 if np.asarray(table)[0][0] == 0.4 else 0.0",
            """
def mutual_information(table):
    p = np.asarray(table, float)  # taken as it is
    return rel_entr(p, np.outer(p.sum(axis=1), p.sum(axis=0))).sum() / np.log(2)
""",
            """
def mutual_information(table):
    p = table / np.sum(table)  # 0 log 0 is nan
    return (p * np.log2(p / np.outer(p.sum(axis=1), p.sum(axis=0)))).sum()
""",
            """
def mutual_information(table):
    p = np.asarray(table, float) / np.sum(table)  # nats
    return rel_entr(p, np.outer(p.sum(axis=1), p.sum(axis=0))).sum()
""",
        ],
    },
    "task-2": {
        "right": [
            """
def describe(P, p_x, p_y_x):
    N, K, M = len(P), len(P[0]), len(p_y_x[0])
    q, q_y = [0.0] * K, [[0.0] * M for _ in range(K)]
    for c in range(K):
        q[c] = sum(p_x[x] * P[x][c] for x in range(N))
        for y in range(M):
            if q[c] > 0:
                q_y[c][y] = sum(p_x[x] * P[x][c] * p_y_x[x][y] for x in range(N)) / q[c]
            else:
                q_y[c][y] = sum(p_x[x] * p_y_x[x][y] for x in range(N))
    return q, q_y
""",
            """
def describe(P, p_x, p_y_x):
    joint = np.einsum("x,xc,xy->cy", p_x, P, p_y_x)
    q = np.dot(p_x, P)
    joint[q == 0] = np.dot(p_x, p_y_x)
    return q.tolist(), (joint / np.where(q == 0, 1, q)[:, None]).tolist()
""",
        ],
        "wrong": [
            """
def describe(P, p_x, p_y_x):
    P = np.asarray(P)  # every plot weighs the same
    return P.mean(axis=0), (P.T @ p_y_x) / P.sum(axis=0)[:, None]
""",
            """
def describe(P, p_x, p_y_x):
    joint = np.asarray(p_x)[:, None] * P  # an empty cluster is nan
    return joint.sum(axis=0), (joint.T @ p_y_x) / joint.sum(axis=0)[:, None]
""",
            """
def describe(P, p_x, p_y_x):
    return np.array([0.6, 0.4]), np.array([[0.5, 0.5], [0.25, 0.75]])
""",
        ],
    },
    "task-3": {
        "right": [
            """
import math

def assign(q, q_y, p_y_x, beta):
    rows = []
    for plot in p_y_x:
        scores = []
        for weight, profile in zip(q, q_y):
            score = math.log(weight) if weight > 0 else -math.inf
            for a, b in zip(plot, profile):
                if a > 0:
                    score -= beta * a * math.log(a / b) if b > 0 else math.inf
            scores.append(score)
        near = [math.exp(score - max(scores)) for score in scores]
        rows.append([value / sum(near) for value in near])
    return rows
""",
            """
def assign(q, q_y, p_y_x, beta):
    p_y_x = np.asarray(p_y_x, float)
    scores = np.log(q) + beta * p_y_x @ np.log(np.asarray(q_y) + 1e-12).T  # as in lesson 20
    return gc.trajectory.softmax(scores).tolist()
""",
        ],
        "wrong": [
            """
def assign(q, q_y, p_y_x, beta):
    D = rel_entr(np.asarray(p_y_x, float)[:, None], np.asarray(q_y, float)).sum(axis=2)
    P = np.asarray(q) * np.exp(-beta * D)  # 0 / 0 in the cold
    return P / P.sum(axis=1, keepdims=True)
""",
            """
def assign(q, q_y, p_y_x, beta):
    D = rel_entr(np.asarray(p_y_x, float)[:, None], np.asarray(q_y, float)).sum(axis=2)
    return gc.trajectory.softmax(-beta * D)  # without the weights
""",
            """
def assign(q, q_y, p_y_x, beta):
    D = rel_entr(np.asarray(q_y, float), np.asarray(p_y_x, float)[:, None]).sum(axis=2)
    return gc.trajectory.softmax(np.log(q) - beta * D)  # the other way round
""",
            """
def assign(q, q_y, p_y_x, beta):
    D = (np.asarray(p_y_x)[:, None] * np.log(np.asarray(p_y_x)[:, None] / np.asarray(q_y))).sum(axis=2)
    return gc.trajectory.softmax(np.log(q) - beta * D)  # 0 log 0
""",
            """
def assign(q, q_y, p_y_x, beta):
    return np.array([[0.735294, 0.264706]]) if beta == 2 else np.array([[0.2, 0.8]])
""",
        ],
    },
    "task-4": {
        "right": [
            """
def descend(P, p_x, p_y_x, beta, n_rounds):
    values = []
    for left in range(n_rounds, -1, -1):
        code = [[p * m for m in row] for p, row in zip(p_x, np.asarray(P).tolist())]
        bits = mutual_information(np.array(code)), mutual_information(np.array(code).T @ np.asarray(p_y_x))
        values.append(bits[0] - beta * bits[1])
        if left:
            q, q_y = describe(P, p_x, p_y_x)
            P = assign(q, q_y, p_y_x, beta)
    return P, values
""",
        ],
        "wrong": [
            """
def descend(P, p_x, p_y_x, beta, n_rounds):
    values = []
    for _ in range(n_rounds):
        P = assign(*describe(P, p_x, p_y_x), p_y_x, beta)
        joint = p_x[:, None] * P
        values.append(mutual_information(joint) - beta * mutual_information(joint.T @ p_y_x))
    return P, values  # without the one before the first round
""",
            """
def descend(P, p_x, p_y_x, beta, n_rounds):
    return P, -np.arange(n_rounds + 1.0)
""",
            """
def descend(P, p_x, p_y_x, beta, n_rounds):
    values = []
    for r in range(n_rounds + 1):
        if r:
            P = assign(*describe(P, p_x, p_y_x), p_y_x, beta)
        values.append(mutual_information(P) - beta * mutual_information(P.T @ p_y_x))  # p(x) forgotten
    return P, values
""",
        ],
    },
    "task-5": {
        "right": [
            """
def bottleneck_curve(p_x, p_y_x, betas, n_clusters, seed):
    rng, code, kept = np.random.RandomState(seed), [], []
    P = [[1 / n_clusters] * n_clusters] * len(p_x)
    for beta in betas:
        P = np.array(P) * np.exp(0.02 * rng.normal(size=(len(p_x), n_clusters)))
        P = P / P.sum(axis=1)[:, None]
        before, rounds = P + 1, 0
        while rounds < 1000 and np.max(np.abs(P - before)) > 1e-5:
            before, P, rounds = P, np.array(assign(*describe(P, p_x, p_y_x), p_y_x, beta)), rounds + 1
        code.append(mutual_information((P.T * p_x).T))
        kept.append(mutual_information((P.T * p_x) @ p_y_x))
    return code, kept
""",
        ],
        "wrong": [
            """
def bottleneck_curve(p_x, p_y_x, betas, n_clusters, seed):
    P, code, kept = np.full((len(p_x), n_clusters), 1 / n_clusters), [], []
    for beta in betas:  # without a push
        P, _ = descend(P, p_x, p_y_x, beta, 100)
        code.append(mutual_information(p_x[:, None] * P))
        kept.append(mutual_information((P.T * p_x) @ p_y_x))
    return code, kept
""",
            """
def bottleneck_curve(p_x, p_y_x, betas, n_clusters, seed):
    rng, code, kept = np.random.default_rng(seed), [], []
    P = np.full((len(p_x), n_clusters), 1 / n_clusters)
    for beta in betas:
        P = P * (1 + 0.05 * rng.random(P.shape))
        P, _ = descend(P / P.sum(axis=1, keepdims=True), p_x, p_y_x, beta, 1)  # one round each
        code.append(mutual_information(p_x[:, None] * P))
        kept.append(mutual_information((P.T * p_x) @ p_y_x))
    return code, kept
""",
            """
def bottleneck_curve(p_x, p_y_x, betas, n_clusters, seed):
    return np.linspace(0, 2, len(betas)), np.linspace(0, 0.7, len(betas))
""",
        ],
    },
    "task-6": {
        "right": [
            """
def new_bits(labels, known, p_y_x):
    def bits(names):
        names = list(names)
        sums = {}
        for name, row in zip(names, p_y_x):
            sums[name] = sums.get(name, 0) + np.asarray(row, float)
        return mutual_information(np.array(list(sums.values())))
    return bits(zip(labels, known)) - bits(known)  # chain rule
""",
        ],
        "wrong": [
            """
def new_bits(labels, known, p_y_x):
    member = np.asarray(labels)[:, None] == np.unique(labels)  # what is known is forgotten
    return mutual_information(member.T @ np.asarray(p_y_x))
""",
            """
def new_bits(labels, known, p_y_x):
    labels, known, p_y_x, bits = np.asarray(labels), np.asarray(known), np.asarray(p_y_x), []
    for z in np.unique(known):
        member = labels[known == z][:, None] == np.unique(labels[known == z])
        bits.append(mutual_information(member.T @ p_y_x[known == z]))
    return np.mean(bits)  # every group weighs the same
""",
            """
def new_bits(labels, known, p_y_x):
    labels, known, bits = np.asarray(labels), np.asarray(known), 0.0
    for z in range(known.max() + 1):  # labels are 0, 1, ...
        table = np.array([p_y_x[(labels == c) & (known == z)].sum(axis=0) for c in range(labels.max() + 1)])
        bits += (known == z).mean() * mutual_information(table)
    return bits
""",
            "def new_bits(labels, known, p_y_x):\n    return float(list(labels) != list(known))",
        ],
    },
    "task-7": {
        "right": [
            """
def both_clusterings(data, n_clusters, coordination, seed):
    one = gc.InformationBottleneck(n_clusters, "bernoulli", n_init=3, random_state=seed + 17)
    labels = one.fit(data).labels_
    two = gc.ConditionalBottleneck(n_clusters, coordination, "bernoulli", random_state=seed + 5)
    return list(labels), (two.fit_predict(data, known=labels) + 1).tolist()
""",
        ],
        "wrong": [
            """
def both_clusterings(data, n_clusters, coordination, seed):
    words = {"features": "bernoulli", "random_state": seed}
    first = gc.InformationBottleneck(n_clusters, **words).fit(data).labels_
    return first, gc.ConditionalBottleneck(n_clusters, coordination, **words).fit(data).labels_  # nothing known
""",
            """
def both_clusterings(data, n_clusters, coordination, seed):
    words = {"features": "bernoulli", "random_state": seed}
    first = gc.InformationBottleneck(n_clusters, **words).fit(data).labels_
    return first, gc.ConditionalBottleneck(n_clusters, 0.3, **words).fit(data, known=first).labels_
""",
            """
def both_clusterings(data, n_clusters, coordination, seed):
    return soil, grazing  # of the visible test
""",
        ],
    },
}

TRANSITION = {
    "task-1": {
        "right": [
            """
def first_split(X):
    X = np.array(X, dtype=float)
    X -= X.mean(axis=0)
    return 0.5 / max(np.linalg.eigvalsh(X.T @ X / len(X)))
""",
            """
def first_split(X):
    C = np.atleast_2d(np.cov(np.transpose(X), bias=True))
    return 1 / (2 * np.linalg.eigvals(C).real.max())
""",
        ],
        "wrong": [
            "def first_split(X):\n    return 1 / (2 * np.linalg.eigvalsh(np.cov(X.T)).max())  # N - 1",
            "def first_split(X):\n    return 1 / (2 * np.linalg.eigvalsh(X.T @ X / len(X)).max())  # not centred",
            "def first_split(X):\n    return 1 / (2 * np.var(X, axis=0).max())  # along the axes only",
            """
def first_split(X):
    return 1 / (2 * np.linalg.eigvalsh(np.cov(np.transpose(X), bias=True)).max())  # fails at D = 1
""",
            "def first_split(X):\n    return 1 / 18 if len(X) == 4 else 0.5",
        ],
    },
    "task-2": {
        "right": [
            """
from scipy.spatial.distance import cdist
from scipy.special import softmax

def settle(X, centroids, beta):
    mu = centroids
    for _ in range(5000):
        P = softmax(-beta * cdist(X, mu, "sqeuclidean"), axis=1)
        sums = P.sum(axis=0)
        new = [P[:, k] @ X / sums[k] if sums[k] > 0 else mu[k] for k in (0, 1)]
        done = np.allclose(new, mu, rtol=0, atol=1e-9)
        mu = new
        if done:
            return mu
    return mu
""",
            """
from scipy.special import expit

def settle(X, centroids, beta):
    X, (one, two), moved, rounds = np.asarray(X, float), np.array(centroids, float), 1.0, 0
    while moved > 1e-9 and rounds < 5000:
        p = expit(2 * beta * (X - (one + two) / 2) @ (one - two))
        new = [w @ X / w.sum() if w.sum() else old for w, old in ((p, one), (1 - p, two))]
        moved = max(abs(new[0] - one).max(), abs(new[1] - two).max())
        (one, two), rounds = new, rounds + 1
    return np.stack([one, two])
""",
        ],
        "wrong": [
            """
def settle(X, centroids, beta):
    X, mu = np.asarray(X, float), np.array(centroids, float)
    for _ in range(2000):
        P = np.exp(-beta * ((X[:, None] - mu) ** 2).sum(axis=2))  # 0 / 0 in the cold
        P /= P.sum(axis=1, keepdims=True)
        mu = P.T @ X / P.sum(axis=0)[:, None]
    return mu
""",
            """
def settle(X, centroids, beta):
    X, mu = np.asarray(X, float), np.array(centroids, float)
    for _ in range(10):  # too few rounds
        d = ((X[:, None] - mu) ** 2).sum(axis=2)
        P = np.exp(-beta * (d - d.min(axis=1, keepdims=True)))
        P /= P.sum(axis=1, keepdims=True)
        mu = P.T @ X / np.maximum(P.sum(axis=0), 1e-300)[:, None]
    return mu
""",
            """
def settle(X, centroids, beta):
    X, mu = np.asarray(X, float), np.array(centroids, float)
    for _ in range(2000):
        d = ((X[:, None] - mu) ** 2).sum(axis=2)
        P = np.exp(-beta * (d - d.min(axis=1, keepdims=True)))
        P /= P.sum(axis=1, keepdims=True)
        mu = P.T @ X / np.maximum(P.sum(axis=0), 1e-300)[:, None]  # one without objects goes to 0
    return mu
""",
            """
def settle(X, centroids, beta):
    X, mu = np.asarray(X, float), np.array(centroids, float)
    for _ in range(100):
        near = ((X[:, None] - mu) ** 2).sum(axis=2).argmin(axis=1)  # no temperature
        mu = np.array([X[near == k].mean(axis=0) if (near == k).any() else mu[k] for k in (0, 1)])
    return mu
""",
            "def settle(X, centroids, beta):\n    return np.array([[-0.957504], [0.957504]]) * (beta == 1)",
        ],
    },
    "task-3": {
        "right": [
            """
def order_parameter(X, betas, seed):
    rng, X = np.random.RandomState(seed), np.array(X, float)
    mu, found = np.stack([X.mean(axis=0), X.mean(axis=0)]), []
    for beta in betas:
        nudge = rng.uniform(-1, 1, size=X.shape[1]) * 1e-3 * np.std(X - X.mean(axis=0))
        mu = np.asarray(settle(X, mu + np.outer([1, -1], nudge), beta))
        found.append(np.linalg.norm((mu[0] - mu[1]) / 2) ** 2)
    return found
""",
        ],
        "wrong": [
            """
def order_parameter(X, betas, seed):
    mu, found = np.array([np.mean(X, axis=0)] * 2), []  # no push
    for beta in betas:
        mu = settle(X, mu, beta)
        found.append(((mu[0] - mu[1]) ** 2).sum() / 4)
    return np.array(found)
""",
            """
def order_parameter(X, betas, seed):
    rng, mu, found = np.random.default_rng(seed), np.array([np.mean(X, axis=0)] * 2), []
    for beta in betas:
        mu = settle(X, mu + 1e-3 * rng.normal(size=mu.shape), beta)
        found.append(((mu[0] - mu[1]) ** 2).sum())  # the whole distance
    return np.array(found)
""",
            """
def order_parameter(X, betas, seed):
    rng, mu, found = np.random.default_rng(seed), np.array([np.mean(X, axis=0)] * 2), []
    for beta in betas:
        mu = settle(X, mu + 1e-3 * rng.normal(size=mu.shape), beta)
        found.append(np.linalg.norm(mu[0] - mu[1]) / 2)  # not squared
    return np.array(found)
""",
            """
def order_parameter(X, betas, seed):
    if len(X) == 2:
        return np.array([0, 0.916814, 0.999988])
    return np.maximum(np.asarray(betas) / first_split(X) - 1, 0)
""",
        ],
    },
    "task-4": {
        "right": [
            """
def locate(betas, squares, low=0.02, high=0.2):
    pairs = [(b, m) for b, m in zip(betas, squares) if low * max(squares) <= m <= high * max(squares)]
    b, m = np.array(pairs, float).T
    slope = ((b - b.mean()) * (m - m.mean())).sum() / ((b - b.mean()) ** 2).sum()
    place = b.mean() - m.mean() / slope
    return np.array([place, slope * place])
""",
        ],
        "wrong": [
            """
def locate(betas, squares, low=0.02, high=0.2):
    betas, squares = np.asarray(betas, float), np.asarray(squares, float)
    slope, offset = np.polyfit(betas[squares > 0], squares[squares > 0], 1)  # all steps
    return -offset / slope, -offset
""",
            """
def locate(betas, squares, low=0.02, high=0.2):
    betas, squares = np.asarray(betas, float), np.asarray(squares, float)
    used = (squares >= low * squares.max()) & (squares <= high * squares.max())
    inverse, place = np.polyfit(squares[used], betas[used], 1)  # the other regression
    return place, place / inverse
""",
            """
def locate(betas, squares, low=0.02, high=0.2):
    betas, squares = np.asarray(betas, float), np.asarray(squares, float)
    used = (squares >= low * squares.max()) & (squares <= high * squares.max())
    slope, offset = np.polyfit(betas[used], squares[used], 1)
    return -offset / slope, slope  # the slope alone
""",
            "def locate(betas, squares, low=0.02, high=0.2):\n    return 2.5, 5.0",
        ],
    },
    "task-5": {
        "right": [
            """
def steepness(X):
    X = np.array(X, float)
    X -= X.mean(axis=0)
    values, vectors = np.linalg.eigh(X.T @ X / len(X))
    return 3 * values[-1] ** 3 / np.mean((X @ vectors[:, -1]) ** 4)
""",
        ],
        "wrong": [
            "def steepness(X):\n    return 1 / (2 * first_split(X))  # as if kappa were a Gaussian's",
            """
def steepness(X):
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(np.transpose(X), bias=True)))
    return 3 * values[-1] ** 3 / np.mean((X @ vectors[:, -1]) ** 4)  # the mean is left in
""",
            """
def steepness(X):
    X = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(X.T)))  # N - 1
    return 3 * values[-1] ** 3 / np.mean((X @ vectors[:, -1]) ** 4)
""",
            "def steepness(X):\n    return 3 if len(X) == 2 else 27",
        ],
    },
    "task-6": {
        "right": [
            """
def found_cosine(X, direction):
    X, d = np.array(X, float), np.array(direction, float)
    X -= X.mean(axis=0)
    if len(X) < X.shape[1]:
        v = X.T @ np.linalg.eigh(X @ X.T)[1][:, -1]
    else:
        v = np.linalg.eigh(X.T @ X)[1][:, -1]
    return abs(v @ d) / np.sqrt((v @ v) * (d @ d))
""",
            """
def found_cosine(X, direction):
    v = np.linalg.eigh(np.cov(X, rowvar=False))[1][:, -1]
    return np.abs(np.dot(v, direction)) / np.linalg.norm(direction)
""",
        ],
        "wrong": [
            """
def found_cosine(X, direction):
    v = np.linalg.eigh(np.cov(X, rowvar=False))[1][:, -1]
    return v @ direction / np.linalg.norm(direction)  # the sign
""",
            """
def found_cosine(X, direction):
    v = np.linalg.eigh(np.cov(X, rowvar=False))[1][:, -1]
    return abs(v @ direction)  # any length
""",
            """
def found_cosine(X, direction):
    v = np.linalg.svd(X, full_matrices=False)[2][0]  # the mean is left in
    return abs(v @ direction) / np.linalg.norm(direction)
""",
            "def found_cosine(X, direction):\n    return 0.6 if direction[0] == 3 else 1.0",
        ],
    },
    "task-7": {
        "right": [
            """
from scipy.optimize import brentq

def objects_needed(n_features, u, cosine):
    l = u * u / 2
    if cosine == 0:
        return n_features / l**2
    def missing(log_alpha):
        a = np.exp(log_alpha)
        return (1 - 1 / (a * l**2)) / (1 + 1 / (a * l)) - cosine**2
    return n_features * np.exp(brentq(missing, -2 * np.log(l) - 1e-9, 40, xtol=1e-13))
""",
        ],
        "wrong": [
            "def objects_needed(n_features, u, cosine):\n    return 4 * n_features / u**4",
            """
def objects_needed(n_features, u, cosine):
    l = u**2 / 2
    return (1 + cosine**2 * l) / (l**2 * (1 - cosine**2))  # alpha, not N
""",
            """
def objects_needed(n_features, u, cosine):
    l = u**2 / 2
    return n_features * (1 + cosine * l) / (l**2 * (1 - cosine))  # the cosine not squared
""",
            "def objects_needed(n_features, u, cosine):\n    return 100.0 if cosine else 25.0",
        ],
    },
}

OWN = {
    "task-1": {
        "right": [
            """
def likeness(first, second):
    width = min(len(first[0]), len(second[0]))
    pairs = [(np.array(a[:width], float), np.array(b[:width], float)) for a, b in zip(first, second)]
    pairs = [pair for pair in pairs if len(set(pair[0])) > 1 and len(set(pair[1])) > 1]
    own, others = [], []
    for i, (a, _) in enumerate(pairs):
        for j, (_, b) in enumerate(pairs):
            (own if i == j else others).append(np.corrcoef(a, b)[0, 1])
    return [np.mean(own), np.mean(others)]
""",
        ],
        "wrong": [
            """
def likeness(first, second):
    first, second = np.asarray(first), np.asarray(second)
    width = min(first.shape[1], second.shape[1])
    rho = np.corrcoef(first[:, :width], second[:, :width])[: len(first), len(first) :]
    return np.diag(rho).mean(), rho.mean()  # the pairs themselves among the random ones
""",
            """
def likeness(first, second):
    first, second = np.asarray(first), np.asarray(second)
    rho = np.corrcoef(first, second)[: len(first), len(first) :]  # equal widths, no constant row
    return np.diag(rho).mean(), rho[~np.eye(len(rho), dtype=bool)].mean()
""",
            """
def likeness(first, second):
    one, two = (np.asarray(view, float) for view in (first, second))
    width = min(one.shape[1], two.shape[1])
    used = [row for row in range(len(one)) if np.ptp(one[row]) > 0 and np.ptp(two[row]) > 0]  # all columns
    rho = np.corrcoef(one[used][:, :width], two[used][:, :width])[: len(used), len(used) :]
    return np.diag(rho).mean(), rho[~np.eye(len(rho), dtype=bool)].mean()
""",
            "def likeness(first, second):\n    return 0.635551, 0.246841",
        ],
    },
    "task-2": {
        "right": [
            """
def capacities(X, offered):
    X, rows = np.asarray(X), []
    views = gc.replicates(X[:, ::2], X[:, 1::2]) if X.shape[1] % 2 == 0 else gc.interleave(X)
    for name in MODELS:
        seen = views.similarities() if name == "correlation clustering" else (views.first, views.second)
        rows.append([gc.evaluate(MODELS[name].set_params(n_clusters=k), seen).value for k in offered])
    return rows
""",
        ],
        "wrong": [
            """
def capacities(X, offered):
    views, model = gc.interleave(X), MODELS["correlation clustering"]  # both rows the same model
    bits = gc.select_n_clusters(model, *views.similarities(), offered, progress=False).capacities
    return np.array([bits, bits])
""",
            """
def capacities(X, offered):
    X = np.asarray(X)  # one view, twice
    views, rows = gc.replicates(X, X), []
    for model, seen in zip(MODELS.values(), (views.similarities(), (X, X))):
        rows.append(gc.select_n_clusters(model, *seen, offered, progress=False).capacities)
    return np.array(rows)
""",
            """
def capacities(X, offered):
    views, rows = gc.interleave(X), []
    for model, seen in zip(MODELS.values(), (views.similarities(), views[:2])):
        rows.append(gc.select_n_clusters(model, *seen, sorted(offered), progress=False).capacities)
    return np.array(rows)  # not in the order offered
""",
            "def capacities(X, offered):\n    return np.tile(np.log2(offered), (2, 1)) * 0.98",
        ],
    },
    "task-3": {
        "right": [
            """
def permuted(X, rng, keep):
    table = np.array(X) if keep == "rows" else np.array(X).T
    table = np.array([rng.permutation(row) for row in table])
    return table if keep == "rows" else table.T
""",
            """
def permuted(X, rng, keep):
    axis = 1 if keep == "rows" else 0
    order = np.argsort(rng.random(np.shape(X)), axis=axis)
    return np.take_along_axis(np.asarray(X), order, axis=axis).tolist()
""",
        ],
        "wrong": [
            """
def permuted(X, rng, keep):
    return rng.permutation(X, axis=1 if keep == "rows" else 0)  # one order for all
""",
            """
def permuted(X, rng, keep):
    for row in X if keep == "rows" else X.T:
        rng.shuffle(row)  # in place
    return X
""",
            """
def permuted(X, rng, keep):
    return rng.permuted(X, axis=1)  # always rows
""",
            """
def permuted(X, rng, keep):
    return np.random.default_rng(0).permuted(X, axis=1 if keep == "rows" else 0)  # not the generator given
""",
            """
def permuted(X, rng, keep):
    moves = rng.integers(X.shape[1], size=len(X))  # turned round, not permuted
    return np.array([np.roll(row, k) for row, k in zip(X, moves)]) if keep == "rows" else rng.permuted(X, axis=0)
""",
            "def permuted(X, rng, keep):\n    return X",
        ],
    },
    "task-4": {
        "right": [
            """
def judge(observed, null):
    observed, null, count = np.array(observed), np.array(null), 0
    excess = observed - np.mean(null, axis=0)
    for r in range(len(null)):
        others = np.mean([null[s] for s in range(len(null)) if s != r], axis=0)
        count += np.max(null[r] - others) > np.max(excess) - 1e-9
    return excess.tolist(), (count + 1) / (len(null) + 1)
""",
        ],
        "wrong": [
            """
def judge(observed, null):
    observed, null = np.asarray(observed), np.asarray(null)
    excess = observed - null.mean(axis=0)
    others = (null.sum(axis=0) - null) / (len(null) - 1)
    scores = (null - others).reshape(len(null), -1).max(axis=1)
    return excess, np.mean(scores >= excess.max() - 1e-9)  # without the data themselves
""",
            """
def judge(observed, null):
    observed, null = np.asarray(observed), np.asarray(null)
    excess = observed - null.mean(axis=0)
    others = (null.sum(axis=0) - null) / (len(null) - 1)
    scores = (null - others).reshape(len(null), -1).max(axis=1)
    return excess, (1 + np.sum(scores > excess.max() + 1e-9)) / (1 + len(null))  # ties for the data
""",
            """
def judge(observed, null):
    observed, null = np.asarray(observed), np.asarray(null)
    excess = observed - null.mean(axis=0)
    scores = (null - null.mean(axis=0)).reshape(len(null), -1).max(axis=1)  # a table against itself as well
    return excess, (1 + np.sum(scores >= excess.max() - 1e-9)) / (1 + len(null))
""",
            """
def judge(observed, null):
    observed, null = np.asarray(observed), np.asarray(null)
    excess = observed - null.mean(axis=0)
    p = (1 + (null >= observed - 1e-9).sum(axis=0)) / (1 + len(null))
    return excess, p.ravel()[excess.argmax()]  # the search is not paid for
""",
            """
def judge(observed, null):
    observed, null = np.asarray(observed), np.asarray(null)
    best = null.reshape(len(null), -1).max(axis=1)
    p = (1 + np.sum(best >= observed.max() - 1e-9)) / (1 + len(null))  # bits, not excess
    return observed - null.mean(axis=0), p
""",
        ],
    },
    "task-5": {
        "right": [
            """
def null_capacities(X, make_null, capacity, n_null, seed):
    generator, rows = np.random.default_rng(seed), []
    while len(rows) < n_null:
        fresh = make_null(X, generator)
        rows.append(capacity(fresh))
    return np.stack(rows)
""",
        ],
        "wrong": [
            """
def null_capacities(X, make_null, capacity, n_null, seed):
    return np.array([capacity(make_null(X, np.random.default_rng(seed))) for _ in range(n_null)])  # the same table
""",
            """
def null_capacities(X, make_null, capacity, n_null, seed):
    rng, rows = np.random.default_rng(seed), []
    for _ in range(n_null):
        X = make_null(X, rng)  # a null of a null
        rows.append(capacity(X))
    return np.array(rows)
""",
            """
def null_capacities(X, make_null, capacity, n_null, seed):
    rng = np.random.default_rng()  # without the seed
    return np.array([capacity(make_null(X, rng)) for _ in range(n_null)])
""",
            """
def null_capacities(X, make_null, capacity, n_null, seed):
    return np.array([[r, 7.0] for r in range(n_null)])
""",
        ],
    },
    "task-6": {
        "right": [
            """
def recommend(observed, null, names, offered):
    excess, p = judge(observed, null)
    excess = np.asarray(excess)
    if p > 0.05 or np.max(excess) < 0.1:
        return
    rows = dict(zip(names, excess))
    name = max(rows, key=lambda one: rows[one].max())
    bits = dict(zip(offered, rows[name]))
    chosen = min(k for k in bits if bits[k] >= max(bits.values()) - 0.02)
    return [name, chosen, bits[chosen], p]
""",
        ],
        "wrong": [
            """
def recommend(observed, null, names, offered):
    excess, p = judge(observed, null)
    if p > 0.05 or excess.max() < 0.1:
        return None
    m, k = np.unravel_index(excess.argmax(), excess.shape)  # the largest, not the smallest number near it
    return list(names)[m], offered[k], excess[m, k], p
""",
            """
def recommend(observed, null, names, offered):
    excess, p = judge(observed, null)
    if excess.max() < 0.1:  # whatever p is
        return None
    m = excess.max(axis=1).argmax()
    k = min(np.flatnonzero(excess[m] >= excess[m].max() - 0.02), key=lambda j: offered[j])
    return list(names)[m], offered[k], excess[m, k], p
""",
            """
def recommend(observed, null, names, offered):
    excess, p = judge(observed, null)
    if p > 0.05:  # however small the excess
        return None
    m = excess.max(axis=1).argmax()
    k = min(np.flatnonzero(excess[m] >= excess[m].max() - 0.02), key=lambda j: offered[j])
    return list(names)[m], offered[k], excess[m, k], p
""",
            """
def recommend(observed, null, names, offered):
    excess, p = judge(observed, null)
    if p > 0.05 or excess.max() < 0.1:
        return None
    m = np.asarray(observed).max(axis=1).argmax()  # the model with most bits
    k = min(np.flatnonzero(excess[m] >= excess[m].max() - 0.02), key=lambda j: offered[j])
    return list(names)[m], offered[k], excess[m, k], p
""",
            """
def recommend(observed, null, names, offered):
    excess, p = judge(observed, null)
    if p > 0.05 or excess.max() < 0.1:
        return None
    m = excess.max(axis=1).argmax()
    k = np.flatnonzero(excess[m] >= excess[m].max() - 0.02)[0]  # the first column, not the smallest number
    return list(names)[m], offered[k], excess[m, k], p
""",
            """
def recommend(observed, null, names, offered):
    return None if np.max(observed) < 0.1 else ("one", 3, 0.895, 0.05)
""",
        ],
    },
}

ANSWERS = {
    "01_annealing_by_hand": ANNEALING,
    "02_capacity_of_a_code": CODE,
    "03_how_many_clusters": CLUSTERS,
    "04_transfer_cost": TRANSFER,
    "05_bottleneck_and_non_redundant": BOTTLENECK,
    "06_phase_transition": TRANSITION,
    "07_own_data": OWN,
}
