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

ANSWERS = {
    "01_annealing_by_hand": ANNEALING,
    "02_capacity_of_a_code": CODE,
    "03_how_many_clusters": CLUSTERS,
    "04_transfer_cost": TRANSFER,
}
