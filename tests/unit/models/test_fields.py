"""Maps, segments and Ising images against plain loops, all states of small grids, finite differences, scikit-learn."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assignments
from scipy.optimize import approx_fprime
from scipy.special import entr, logsumexp, softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.image import grid_to_graph

import gencap as gc
from gencap.kernels import fields as kernels

SOM, SMOOTH = gc.SelfOrganizingClustering, gc.SmoothKMeans


def pixels(*shape):
    return np.indices(shape).reshape(len(shape), -1).T


def vectors(n_objects=8, n_features=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n_objects, n_features))


# Self-organising clustering


def test_the_cost_of_a_map_is_the_least_over_centroids():
    X, labels, T = vectors(), np.array([0, 1, 2, 2, 1, 0, 0, 3]), gc.grid_transmission(4, 0.8)

    def cost(y):
        y = y.reshape(4, 2)
        return sum(T[a, nu] * ((x - y[nu]) ** 2).sum() for x, a in zip(X, labels, strict=True) for nu in range(4))

    y = np.array([sum(T[a, nu] * x for x, a in zip(X, labels, strict=True)) / T[labels, nu].sum() for nu in range(4)])
    assert np.abs(approx_fprime(y.ravel(), cost)).max() < 1e-5
    assert SOM(4, width=0.8).cost(labels, X) == pytest.approx(cost(y.ravel()))


@pytest.mark.parametrize(
    ("topology", "most"),
    [("chain", 1.02), (np.eye(3), 1.0), ([[0.8, 0.1, 0.1], [0.0, 0.7, 0.3], [0.3, 0.3, 0.4]], 1.05)],
)
def test_annealing_of_a_map_ends_at_the_best_of_all_labelings(topology, most):
    """Or close to it where clusters have neighbours: the first split decides which cluster lies where."""
    for seed in range(3):
        X, model = vectors(7, seed=seed), SOM(3, topology=topology, n_init=8, random_state=0)
        best = min(model.cost(labels, X) for labels in assignments(7, 3))
        assert best * (1 - 1e-9) <= model.fit(X).trajectory_.costs[-1] <= most * best * (1 + 1e-9)


def test_without_mistakes_a_map_is_k_means():
    X, _, _ = gc.datasets.five_gaussians(300, random_state=0)
    fit = SOM(5, topology=np.eye(5), random_state=0).fit(X)
    best = KMeans(5, n_init=20, random_state=0).fit(X)
    assert fit.cost(fit.labels_, X) == pytest.approx(best.inertia_, rel=1e-3)
    assert SOM(5, width=0.0).cost(best.labels_, X) == pytest.approx(best.inertia_, rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 6), st.floats(0.05, 50))
def test_no_sweep_of_a_map_raises_the_free_energy(seed, n_clusters, beta):
    rng = np.random.default_rng(seed)
    X, T = rng.standard_normal((30, 2)), rng.dirichlet(np.ones(n_clusters), n_clusters)
    model, X = SOM(n_clusters, topology=T)._prepared(X)
    y, before = rng.standard_normal((n_clusters, 2)), np.inf
    for _ in range(20):
        P, weights, _ = model._sweep(X, y, None, beta, None)
        h = np.array([[sum(T[a] * ((x - y) ** 2).sum(axis=1)) for a in range(n_clusters)] for x in X])
        np.testing.assert_allclose(P, softmax(-beta * h, axis=1), atol=1e-9)
        energy = -logsumexp(-beta * h, axis=1).sum() / beta
        assert energy <= before + 1e-9 * abs(before if np.isfinite(before) else 1)
        y, before = weights.T @ X / weights.sum(axis=0)[:, None], energy


def test_the_cost_of_a_map_falls_as_it_cools():
    run = SOM(16, width=1.0, random_state=0).fit(np.random.default_rng(0).random((400, 2))).trajectory_
    costs = (run.probabilities * run.potentials).sum(axis=(1, 2))  # expected ones
    assert (np.diff(costs) <= 1e-3 * costs[0]).all() and costs[-1] < 0.25 * costs[0]
    assert run.costs[-1] == pytest.approx(costs[-1], rel=1e-3)


MISTAKEN = [[0.7, 0.2, 0, 0.1], [0, 1, 0, 0], [0.3, 0, 0.7, 0], [0, 0.4, 0, 0.6]]


@pytest.mark.parametrize("topology", ["chain", (2, 2), MISTAKEN])
def test_the_first_split_of_a_map_is_where_a_small_difference_begins_to_grow(topology):
    model, X = SOM(4, topology=topology)._prepared(vectors(60) * [1.0, 2.0])
    y, size = np.random.default_rng(1).standard_normal((4, 2)), 1e-6
    for _ in range(200):
        weights = model._sweep(X, size * y / np.abs(y).max(), None, 1.0, None)[1]
        y = weights.T @ X / weights.sum(axis=0)[:, None] / size
    assert 1 / np.abs(y).max() == pytest.approx(model._unit(X), rel=1e-3)


def test_a_chain_lies_along_the_data_and_a_grid_keeps_neighbours():
    rng = np.random.default_rng(0)
    angle = rng.random(300) * np.pi
    fit = SOM(10, width=1.0, random_state=0).fit(np.column_stack([np.cos(angle), np.sin(angle)]))
    along = np.arctan2(*fit.cluster_centers_.T[::-1])
    assert (np.diff(along) > 0).all() or (np.diff(along) < 0).all()
    places = pixels(4, 4)
    steps = np.abs(places[:, None] - places).sum(axis=2)
    for seed in range(3):
        fit = SOM(16, topology=(4, 4), width=0.7, random_state=seed).fit(rng.random((600, 2)))
        apart = np.linalg.norm(fit.cluster_centers_[:, None] - fit.cluster_centers_, axis=2)
        assert apart[steps == 1].max() < apart[steps >= 4].min()


def test_the_transmitted_distortion_is_that_of_a_simulated_channel():
    rng, X, codebook = np.random.default_rng(0), vectors(4000), vectors(5, seed=1)
    T = rng.dirichlet(np.ones(5), 5)
    distances = ((X[:, None] - codebook) ** 2).sum(axis=2)
    for nearest, sent in ((True, distances.argmin(axis=1)), (False, (distances @ T.T).argmin(axis=1))):
        got = np.array([rng.choice(5, p=T[a]) for a in sent])
        seen = distances[np.arange(4000), got]
        found = gc.transmitted_distortion(X, codebook, T, nearest=nearest)
        assert abs(seen.mean() - found) < 4 * seen.std() / np.sqrt(4000)


def test_a_map_is_a_codebook_for_a_noisy_channel():
    """Issue 15, line 3: 16 vectors of a uniform square, indices mistaken for their neighbours' (width 1)."""
    T = gc.grid_transmission(16, 1.0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, new = rng.random((2, 1500, 2))
        own = gc.transmitted_distortion(new, SOM(16, width=1.0, random_state=0).fit(X).cluster_centers_, T)
        centers = KMeans(16, n_init=5, random_state=0).fit(X).cluster_centers_
        drawn = [rng.permutation(centers) for _ in range(20)]
        assert own < 0.3 * np.mean([gc.transmitted_distortion(new, each, T, nearest=True) for each in drawn])
        assert own < 0.35 * np.mean([gc.transmitted_distortion(new, each, T) for each in drawn])  # who knows of it


# Smooth k-means


def segment_cost(labels, X, edges, price):
    """Squared distances to the means, and a price for each edge between clusters, one by one."""
    own = sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    return own + sum(price * (labels[i] != labels[j]) for i, j in edges)


@pytest.mark.parametrize("reach", [1.0, 1.5])
def test_the_cost_of_segments_counts_every_pair_of_neighbours_once(reach):
    X, rng = vectors(12), np.random.default_rng(0)
    places = pixels(3, 4)
    edges = [(i, j) for i, j in itertools.combinations(range(12), 2) if np.hypot(*(places[i] - places[j])) <= reach]
    assert len(edges) == {1.0: 17, 1.5: 29}[reach]
    if reach == 1.0:
        graph = grid_to_graph(3, 4)
        assert {(i, j) for i, j in zip(graph.row, graph.col, strict=True) if i < j} == set(edges)
    for _ in range(5):
        labels, order = rng.integers(3, size=12), rng.permutation(12)
        model = SMOOTH(3, smoothness=0.7, reach=reach)
        expected = segment_cost(labels, X, edges, 0.7)
        assert model.cost(labels, X, positions=places) == pytest.approx(expected)
        assert model.cost(labels[order], X[order], positions=places[order]) == pytest.approx(expected)
        assert model.cost(labels, X) == pytest.approx(segment_cost(labels, X, [], 0.7))


def test_segments_end_at_the_best_of_all_labelings():
    for seed in range(4):
        X = vectors(9, 1, seed=seed) + 2.0 * (pixels(3, 3)[:, :1] > 0)
        model = SMOOTH(2, smoothness=0.3, n_init=5, random_state=0)
        best = min(model.cost(labels, X, positions=pixels(3, 3)) for labels in assignments(9, 2))
        assert model.fit(X, positions=pixels(3, 3)).trajectory_.costs[-1] == pytest.approx(best, rel=1e-6)


def test_without_neighbours_it_is_k_means():
    X, _, _ = gc.datasets.five_gaussians(300, random_state=0)
    for extra in ({}, {"positions": np.arange(300)[:, None] * 2}):
        fit = SMOOTH(5, random_state=0).fit(X, **extra)
        best = KMeans(5, n_init=20, random_state=0).fit(X)
        assert fit.trajectory_.costs[-1] == pytest.approx(best.inertia_, rel=1e-3)


def random_field(rng, shape=(2, 3), n_labels=3):
    """Own costs, symmetric prices (N, N) of neighbours and their compressed rows."""
    n_sites = np.prod(shape)
    near = grid_to_graph(*shape).toarray() * (1 - np.eye(n_sites))
    prices = np.triu(near * rng.random((n_sites, n_sites)), 1)
    prices = prices + prices.T
    indptr = np.append(0, (prices > 0).sum(axis=1).cumsum())
    return rng.standard_normal((n_sites, n_labels)), prices, (indptr, np.nonzero(prices)[1], prices[prices > 0])


def energies(states, own, prices):
    unlike = states[:, :, None] != states[:, None, :]
    return own[np.arange(own.shape[0]), states].sum(axis=1) + (unlike * prices).sum(axis=(1, 2)) / 2


def bound(P, own, prices, beta):
    return (P * own).sum() + (prices * (1 - P @ P.T)).sum() / 2 - entr(P).sum() / beta


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.floats(0.1, 5))
def test_mean_field_descends_to_a_stationary_bound_on_the_free_energy(seed, beta):
    rng = np.random.default_rng(seed)
    own, prices, rows = random_field(rng)
    P, before, change = rng.dirichlet(np.ones(3), 6), np.inf, 1.0
    for _ in range(500):
        change = kernels.meanfield_sweep(own, *rows, beta, P)
        now = bound(P, own, prices, beta)
        assert now <= before + 1e-10 and P.sum(axis=1) == pytest.approx(np.ones(6))
        before = now
        if change < 1e-12:
            break
    exact = -logsumexp(-beta * energies(assignments(6, 3), own, prices)) / beta
    assert exact <= before + 1e-10
    # Stationary on the simplices: the bound as a function of free parameters has no slope.
    slope = approx_fprime(np.log(P).ravel(), lambda u: bound(softmax(u.reshape(6, 3), axis=1), own, prices, beta))
    assert np.abs(slope).max() < 1e-5


def test_the_gibbs_sampler_draws_from_the_gibbs_distribution():
    rng = np.random.default_rng(0)
    own, prices, rows = random_field(rng)
    states = assignments(6, 3)
    weights = softmax(-1.3 * energies(states, own, prices))
    exact = np.array([[weights[states[:, i] == k].sum() for k in range(3)] for i in range(6)])
    P, counts = np.eye(3)[np.zeros(6, int)], np.zeros((6, 3))
    for _ in range(40_000):
        kernels.gibbs_sweep(own, *rows, 1.3, P, counts, rng)
    assert (P.sum(axis=1) == 1).all() and np.abs(counts / 40_000 - exact).max() < 0.015


def test_the_potentials_of_segments_are_those_of_the_source():
    """Section 6.6: the distance, and lambda for each neighbour that is expected elsewhere."""
    X, places = vectors(12), pixels(3, 4)
    run = SMOOTH(2, smoothness=0.3, random_state=0).fit(X, positions=places).trajectory_
    for t in (0, 5, -1):
        P, h = run.probabilities[t], np.empty((12, 2))
        for i, a in itertools.product(range(12), range(2)):
            near = np.flatnonzero(np.abs(places - places[i]).sum(axis=1) == 1)
            h[i, a] = ((X[i] - run.centroids[t, a]) ** 2).sum() + 0.3 * (1 - P[near, a]).sum()
        np.testing.assert_allclose(run.potentials[t], h, atol=5e-3)
        np.testing.assert_allclose(run.centroids[t], P.T @ X / P.sum(axis=0)[:, None], atol=5e-3)


@pytest.mark.parametrize(("noise", "smoothness", "most"), [(0.3, 0.3, 0.01), (0.5, 0.4, 0.05)])
def test_neighbours_take_the_noise_out_of_segments(noise, smoothness, most):
    """Issue 15, line 4."""
    for seed in range(2):
        image, labels = gc.datasets.three_regions(noise=noise, random_state=seed)
        X, errors = image.reshape(-1, 1), []
        for model in (KMeans(3, n_init=3, random_state=0), SMOOTH(3, smoothness=smoothness, random_state=0)):
            extra = {} if isinstance(model, KMeans) else {"positions": pixels(*image.shape)}
            fit = model.fit(X, **extra)
            rank = fit.cluster_centers_[:, 0].argsort().argsort()
            errors.append((rank[fit.labels_] != labels.ravel()).mean())
        assert errors[0] > 0.28 and errors[1] < most


def test_neighbours_take_the_noise_out_of_a_photograph():
    """Issue 15, line 4: three greys of a part of the photograph, found again under noise of .2 of the range."""
    clean = gc.datasets.load_image("china")[:240:3, :360:3] / 255
    noisy = clean + 0.2 * np.random.default_rng(0).standard_normal(clean.shape)
    fits = [KMeans(3, n_init=3, random_state=0).fit(image.reshape(-1, 1)) for image in (clean, noisy)]
    model = SMOOTH(3, smoothness=0.08, random_state=0)
    fits.append(model.fit(noisy.reshape(-1, 1), positions=pixels(*clean.shape)))
    ranks = [fit.cluster_centers_[:, 0].argsort().argsort()[fit.labels_] for fit in fits]
    assert (ranks[2] != ranks[0]).mean() < 0.6 * (ranks[1] != ranks[0]).mean()


def test_places_go_with_their_objects_through_validation():
    """Two noisy copies of an image carry more bits over where neighbours are known."""
    images = [gc.datasets.three_regions(shape=(24, 36), noise=0.5, random_state=seed)[0] for seed in range(2)]
    bits = []
    for smoothness in (0.0, 0.5):
        model = SMOOTH(3, smoothness=smoothness, random_state=0)
        runs = [model.anneal(image.reshape(-1, 1), positions=pixels(24, 36)) for image in images]
        bits.append(gc.generalization_capacity(*runs).value)
    assert bits[1] > bits[0] + 0.3
    X, per_object = images[0].reshape(-1, 1), {"positions": pixels(24, 36)}
    assert 0 <= gc.instability(model, X, n_repeats=2, per_object=per_object, random_state=0).disagreement < 0.67


# Ising


def ising_energy(x, y, coupling, mu):
    """The energy as section 9.1 prints it, pixel by pixel."""
    total = 0.0
    for i, j in np.ndindex(x.shape):
        near = [(i + a, j + b) for a, b in ((0, 1), (0, -1), (1, 0), (-1, 0))]
        near = [x[place] for place in near if 0 <= place[0] < x.shape[0] and 0 <= place[1] < x.shape[1]]
        total -= coupling / 2 * x[i, j] / len(near) * sum(near) + mu * x[i, j] * y[i, j]
    return total


def test_energies_of_images_are_those_of_the_source():
    y = np.where(np.random.default_rng(0).random((3, 5)) < 0.5, -1, 1)
    for n_sweeps in (1, 4):
        found = gc.ising_denoising(
            y, coupling=1.5, flip=0.2, inference="annealing", n_sweeps=n_sweeps, random_state=n_sweeps
        )
        assert found.energies.shape == (n_sweeps,)
        assert found.energies[-1] == pytest.approx(ising_energy(found.image, y, 1.5, 0.5 * np.log(4)))


def test_images_against_all_states_of_a_small_one():
    states = np.array(list(itertools.product([-1, 1], repeat=9))).reshape(-1, 3, 3)
    for seed in range(3):
        y = np.where(np.random.default_rng(seed).random((3, 3)) < 0.4, -1, 1)
        energy = np.array([ising_energy(x, y, 1.2, 0.5 * np.log(4)) for x in states])
        expected = np.tensordot(softmax(-energy), states, 1)
        mean = gc.ising_denoising(y, coupling=1.2, flip=0.2)
        assert (np.diff(mean.energies) <= 1e-10).all() and mean.energies[-1] >= -logsumexp(-energy)
        assert np.abs(mean.means - expected).max() < 0.5
        gibbs = gc.ising_denoising(y, coupling=1.2, flip=0.2, inference="gibbs", n_sweeps=20_000, random_state=0)
        assert np.abs(gibbs.means - expected).max() < 0.05
        options = {"coupling": 1.2, "flip": 0.2, "inference": "annealing", "n_sweeps": 200}
        cold = [gc.ising_denoising(y, **options, random_state=run).energies[-1] for run in range(8)]
        assert min(cold) == pytest.approx(energy.min())


@pytest.mark.parametrize("inference", ["meanfield", "gibbs", "annealing"])
def test_flipped_pixels_are_found(inference):
    """Issue 15, line 4: a photograph (every third pixel, its brighter half) and a generated image."""
    photograph = gc.datasets.load_image("china")[::3, ::3]
    made = gc.datasets.three_regions(noise=0.0)[1] == 2
    for image, most in ((photograph > np.median(photograph), (0.05, 0.07)), (made, (0.01, 0.02))):
        x = np.where(image, 1, -1)
        for flip, worst in zip((0.1, 0.2), most, strict=True):
            y = x * np.where(np.random.default_rng(0).random(x.shape) < flip, -1, 1)
            found = gc.ising_denoising(y, flip=flip, inference=inference, random_state=0)
            assert (found.image != x).mean() < worst and found.image.shape == x.shape
            assert set(np.unique(found.image)) <= {-1, 1} and np.abs(found.means).max() <= 1


def test_mean_field_that_does_not_settle_is_told(monkeypatch):
    monkeypatch.setattr("gencap.models.fields.MAX_SWEEPS", 1)
    with pytest.warns(ConvergenceWarning, match="did not settle within 1 sweeps"):
        gc.ising_denoising(np.where(vectors(6, 6) > 0, 1, -1))


# Bad arguments

IMAGE = np.ones((4, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SOM(3, topology="ring").fit(vectors()), ValueError, "topology='ring' is not one of 'chain'"),
        (lambda: SOM(3, topology=(2, 2)).fit(vectors()), ValueError, r"topology=\(2, 2\) has 4 places.*n_clusters=3"),
        (lambda: SOM(4, topology=(2.5, 2)).fit(vectors()), TypeError, "shape must be an integer"),
        (lambda: SOM(3, topology=np.eye(2)).fit(vectors()), ValueError, r"topology has shape \(2, 2\)"),
        (lambda: SOM(2, topology=np.ones((2, 2))).fit(vectors()), ValueError, "sums of rows from 2"),
        (lambda: SOM(2, topology=[[2.0, -1], [0, 1]]).fit(vectors()), ValueError, "least entry -1"),
        (lambda: SOM(3, width=-1.0).cost(np.arange(8) % 3, vectors()), ValueError, "width=-1"),
        (lambda: SOM(3, n_init=0).fit(vectors()), ValueError, "n_init=0"),
        (
            lambda: SOM(3).anneal(vectors(), [1.0], init=SOM(3).anneal(vectors(8, 3), [1.0])),
            ValueError,
            "init has centroids of shape",
        ),
        (lambda: gc.grid_transmission(0), ValueError, "shape=0"),
        (lambda: gc.transmitted_distortion(vectors(), vectors(3, 3), np.eye(3)), ValueError, "codebook has shape"),
        (lambda: gc.transmitted_distortion(vectors(), vectors(3), np.eye(4)), ValueError, "transmission has shape"),
        (lambda: SMOOTH(2, smoothness=-0.1).fit(vectors()), ValueError, "smoothness=-0.1"),
        (lambda: SMOOTH(2, reach=np.nan).fit(vectors()), ValueError, "reach=nan"),
        (lambda: SMOOTH(2).fit(vectors(), positions=pixels(3, 3)), ValueError, "positions has 9 entries"),
        (lambda: SMOOTH(2).cost([0] * 8, vectors(), positions=pixels(3, 3)), ValueError, "positions has 9 entries"),
        (lambda: SMOOTH(2).fit(vectors(), positions=np.arange(8)), ValueError, "positions must be a non-empty 2-D"),
        (lambda: gc.ising_denoising(IMAGE[0]), ValueError, "image must be a non-empty 2-D"),
        (lambda: gc.ising_denoising(0 * IMAGE), ValueError, "image must hold only -1 and 1, got 0"),
        (lambda: gc.ising_denoising(IMAGE, coupling=-1.0), ValueError, "coupling=-1"),
        (lambda: gc.ising_denoising(IMAGE, flip=0.0), ValueError, "flip=0"),
        (lambda: gc.ising_denoising(IMAGE, inference="metropolis"), ValueError, "inference='metropolis'"),
        (lambda: gc.ising_denoising(IMAGE, n_sweeps=0), ValueError, "n_sweeps=0"),
        (lambda: gc.ising_denoising(IMAGE, reach=-1.0), ValueError, "reach=-1"),
        (lambda: gc.datasets.three_regions(noise=-1.0), ValueError, "noise=-1"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("factor", [1.05, 1.3])
def test_a_map_splits_right_behind_its_unit(factor):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(20, 3)) / 2 + 2 * center for center in np.eye(3)])
    model = gc.SelfOrganizingClustering(4, random_state=0)
    assert model.anneal(X, [factor * model.unit(X)]).probabilities[0].std(axis=0).max() > 0.05


def test_what_is_rounding_is_no_unit():
    for model in (gc.SmoothKMeans(2), gc.SelfOrganizingClustering(2), gc.ComplexityConstrainedClustering(2),
                  gc.AnnealedKMeans(2)):  # fmt: skip
        assert model.unit(np.full((7, 3), 0.1)) == 1.0
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert gc.SelfOrganizingClustering(4, width=1e9).unit(X) == 1.0


@pytest.mark.parametrize("topology", [None, 5, (), np.eye(3), np.ones((4, 4))])
def test_a_topology_is_named(topology):
    with pytest.raises(ValueError, match="topology|shape has no sides"):
        gc.SelfOrganizingClustering(4, topology=topology).fit(np.random.default_rng(0).normal(size=(20, 2)))


def test_a_channel_of_single_precision_is_taken_and_kept_apart_from_the_callers():
    T = gc.grid_transmission(4)
    X = np.random.default_rng(0).normal(size=(20, 2))
    gc.SelfOrganizingClustering(4, topology=T.astype(np.float32), random_state=0).fit(X)
    model = gc.SelfOrganizingClustering(4, topology=T, random_state=0).fit(X)
    assert not np.shares_memory(model.transmission_, T)


def test_places_of_objects_in_another_order_are_refused_everywhere():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 2)), index=[f"o{i}" for i in range(20)])
    places = pd.DataFrame(np.indices((4, 5)).reshape(2, -1).T, index=X.index)
    model, other = gc.SmoothKMeans(2, random_state=0), places[::-1]
    for call in (lambda: model.cost(np.arange(20) % 2, X, positions=other), lambda: model.unit(X, positions=other),
                 lambda: model.anneal(X, positions=other)):  # fmt: skip
        with pytest.raises(ValueError, match="positions has 'o19' as object 0"):
            call()


def test_neighbours_without_end_are_refused():
    with pytest.raises(ValueError, match="reach=1000000000.0 would hold"):
        gc.ising_denoising(np.ones((150, 150)), reach=1e9)
    with pytest.raises(ValueError, match="coupling"):
        gc.ising_denoising(np.ones((6, 7)), coupling=1e308)
    with pytest.raises(ValueError, match="would hold"):
        gc.grid_transmission(100_000)
