"""Generators by their statistics (within four standard errors), loaders by files made up in the same form."""

import gzip
import hashlib
import pickle

import joblib
import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_image

from gencap import datasets
from gencap.datasets import sources

SEED = 5


def within_four_sigma(rate, expected, n):
    return abs(rate - expected) <= 4 * np.sqrt(expected * (1 - expected) / n) + 1e-12


# Vectors


def test_paired_sources_share_labels_and_have_independent_noise_of_the_given_variance():
    centers = np.array([[0.0, 0], [10, 0], [0, 10]])
    variance = np.array([0.25, 1, 4])
    X1, X2, labels = datasets.paired_gaussian_sources(6000, centers, variance=variance, random_state=SEED)
    assert np.array_equal(labels, np.arange(6000) % 3)
    noise = np.stack([X - centers[labels] for X in (X1, X2)])
    for k in range(3):
        own = noise[:, labels == k]
        n = own[0].size
        assert abs(own.var() / variance[k] - 1) < 4 * np.sqrt(2 / (2 * n))
        assert np.abs(own.mean(axis=(0, 1))).max() < 4 * np.sqrt(variance[k] / (2 * n / 2))
        assert abs(np.corrcoef(own[0].ravel(), own[1].ravel())[0, 1]) < 4 / np.sqrt(n)


def test_sizes_give_blocks():
    _, _, labels = datasets.paired_gaussian_sources(6, np.eye(3), variance=1.0, random_state=SEED, sizes=[1, 2, 3])
    assert labels.tolist() == [0, 1, 1, 2, 2, 2]
    assert datasets.three_sources(8, random_state=SEED)[2].tolist() == [0] * 100 + [1] * 100 + [2] * 300


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: datasets.five_gaussians(50, random_state=seed),
        lambda seed: datasets.four_gaussians(5, 50, random_state=seed),
        lambda seed: datasets.two_sources_high_dimensional(20, 30, random_state=seed),
        lambda seed: datasets.three_sources(4, (3, 3, 9), random_state=seed),
        lambda seed: datasets.two_clouds(0.3, 10, random_state=seed),
        lambda seed: datasets.planted_correlation_graphs(20, random_state=seed),
        lambda seed: datasets.planted_group_graphs(5, noise=0.5, random_state=seed),
        lambda seed: datasets.kary_code_pair(50, 4, 0.2, random_state=seed),
        lambda seed: datasets.mixed_histograms(10, 3, random_state=seed),
        lambda seed: datasets.three_regions(shape=(5, 7), random_state=seed),
    ],
)
def test_same_seed_same_data_in_any_process(make):
    first, again, other = make(3), make(3), make(4)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(first, make(np.random.default_rng(3)), strict=True))
    generator = np.random.default_rng(3)
    make(generator)
    assert not all(np.array_equal(a, b) for a, b in zip(first, make(generator), strict=True))


def test_presets_have_the_published_geometry():
    X1, _, labels = datasets.five_gaussians(5000, random_state=SEED)
    means = np.array([X1[labels == k].mean(axis=0) for k in range(5)])
    assert np.abs(means - [(1, 0), (0, 1.5), (-2, 0), (0, -3), (4.25, -4)]).max() < 4 * np.sqrt(0.5 / 1000)
    X1, _, labels = datasets.four_gaussians(5, 8000, random_state=SEED)
    means = np.array([X1[labels == k].mean(axis=0) for k in range(4)])
    assert np.abs(np.abs(means) - 4).max() < 4 * np.sqrt(5 / 2000)
    corners = datasets.three_sources(1e6, (1, 1, 1), random_state=SEED)[0]  # of unit variance
    sides = [np.linalg.norm(corners[a] - corners[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert np.abs(np.array(sides) - 1e6).max() < 10


@pytest.mark.parametrize("n_features", [2, 100, 3000])
def test_high_dimensional_sources_are_orthogonal_and_scaled(n_features):
    X1, X2, labels = datasets.two_sources_high_dimensional(4000, n_features, distance=4.5, random_state=SEED)
    assert X1.shape == X2.shape == (4000, n_features)
    means = np.array([np.concatenate([X[labels == k] for X in (X1, X2)])[:, :2].mean(axis=0) for k in (0, 1)])
    error = 4 * np.sqrt(0.5 / 4000)
    distance = 4.5 * np.sqrt(100 / n_features)
    assert np.abs(means - np.eye(2) * distance / np.sqrt(2)).max() < error
    for X in (X1, X2):
        noise = X - np.eye(2, n_features)[labels] * distance / np.sqrt(2)
        assert abs((noise**2).mean() / 0.5 - 1) < 4 * np.sqrt(2 / noise.size)


def test_clouds_keep_their_numbers_when_the_variance_changes():
    X, labels = datasets.two_clouds(0.1, 100, random_state=SEED)
    wide, _ = datasets.two_clouds(0.4, 100, random_state=SEED)
    shift = np.array([2.83, 0]) * labels[:, None]
    assert np.allclose((wide - shift) / np.sqrt(0.4), (X - shift) / np.sqrt(0.1))
    assert np.bincount(labels).tolist() == [100, 100]


# Graphs


def check_graphs(graphs, n):
    assert isinstance(graphs, tuple) and len(graphs) == 2 and graphs.labels.shape == (n,)
    for X in graphs:
        assert X.shape == (n, n) and X.dtype == np.float32
        assert np.array_equal(X, X.T) and not X.diagonal().any()
    assert not np.array_equal(*graphs)


@pytest.mark.parametrize("n", [20, 256, 257, 600])  # around the size of a block of rows
@pytest.mark.parametrize(("complexity", "noise"), [(0.35, 0.85), (0.0, 0.3), (1.0, 0.5)])
def test_planted_graphs_have_the_planted_rates(n, complexity, noise):
    graphs = datasets.planted_correlation_graphs(n, 4, complexity=complexity, noise=noise, random_state=SEED)
    check_graphs(graphs, n)
    inside = graphs.labels[:, None] == graphs.labels
    upper = np.triu(np.ones((n, n), bool), 1)
    for X in graphs:
        assert set(np.unique(X[upper])) <= {-1, 1}
        for edges, planted in ((inside & upper, 1.0), (~inside & upper, complexity)):
            expected = (1 - noise) * planted + noise / 2
            assert within_four_sigma((X[edges] > 0).mean(), expected, edges.sum())


def test_planted_graphs_have_independent_noise():
    first, second = datasets.planted_correlation_graphs(500, 5, complexity=0.35, noise=0.85, random_state=SEED)
    inside = np.triu(np.arange(500)[:, None] % 5 == np.arange(500) % 5, 1)
    correlation = np.corrcoef(first[inside], second[inside])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(inside.sum())


def test_planted_graphs_without_noise_show_the_partition_and_take_sizes():
    graphs = datasets.planted_correlation_graphs(9, 3, complexity=0.0, noise=0.0, random_state=SEED, sizes=[2, 3, 4])
    assert graphs.labels.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    expected = np.where(graphs.labels[:, None] == graphs.labels, 1, -1) - np.eye(9)
    assert np.array_equal(graphs[0], expected) and np.array_equal(graphs[1], expected)


def test_group_graphs_follow_eq_148():
    graphs = datasets.planted_group_graphs(3, noise=0.0, random_state=SEED)
    link = {(0, 1): 2, (2, 3): 2, (0, 3): -1, (1, 2): -1, (0, 2): -2, (1, 3): -2}
    for i in range(12):
        for j in range(i):
            groups = (j // 3, i // 3)
            assert graphs[0][i, j] == (1 if groups[0] == groups[1] else link[groups])


@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_group_graphs_have_the_replacement_rate(noise):
    graphs = datasets.planted_group_graphs(100, noise=noise, random_state=SEED)
    check_graphs(graphs, 400)
    planted = datasets.planted_group_graphs(100, noise=0.0, random_state=SEED)[0]
    upper = np.triu(np.ones((400, 400), bool), 1)
    for X in graphs:
        for value in (-2, -1, 1, 2):
            edges = upper & (planted == value)
            assert within_four_sigma((X[edges] == value).mean(), 1 - noise * 3 / 4, edges.sum())


def test_paired_graphs_survive_pickle_and_workers():
    graphs = datasets.planted_correlation_graphs(12, random_state=SEED)
    for copy in (pickle.loads(pickle.dumps(graphs)), joblib.Parallel(1)([joblib.delayed(tuple)(graphs)])[0]):
        assert np.array_equal(copy[0], graphs[0])
    assert np.array_equal(pickle.loads(pickle.dumps(graphs)).labels, graphs.labels)


# Pairs


PAIRS = {
    "sources": lambda: datasets.paired_gaussian_sources(1500, 3 * np.eye(3), variance=[0.5, 1, 2], random_state=SEED),
    "sources in blocks": lambda: datasets.paired_gaussian_sources(
        900, 3 * np.eye(3), variance=1.0, random_state=SEED, sizes=[200, 300, 400]
    ),
    "five": lambda: datasets.five_gaussians(2000, random_state=SEED),
    "four": lambda: datasets.four_gaussians(5, 1200, random_state=SEED),
    "high-dimensional": lambda: datasets.two_sources_high_dimensional(300, 200, random_state=SEED),
    "three": lambda: datasets.three_sources(5, random_state=SEED),
    "correlation graphs": lambda: datasets.planted_correlation_graphs(
        300, 3, complexity=0.35, noise=0.6, random_state=SEED
    ),
    "correlation graphs in blocks": lambda: datasets.planted_correlation_graphs(
        300, 2, complexity=0.1, noise=0.8, random_state=SEED, sizes=[120, 180]
    ),
    "group graphs": lambda: datasets.planted_group_graphs(75, noise=0.5, random_state=SEED),
}


@pytest.mark.parametrize("name", PAIRS)
def test_members_of_a_pair_share_the_labels_and_nothing_else(name):
    """Around the means of the planted groups the two members are uncorrelated: in all, in every group, in every row."""
    pair = PAIRS[name]()
    graph = isinstance(pair, datasets.PairedGraphs)
    labels = pair.labels if graph else pair[2]
    X1, X2 = (np.asarray(X, float) for X in pair[:2])
    groups = labels[:, None] * (labels.max() + 1) + labels if graph else np.broadcast_to(labels[:, None], X1.shape)
    counted = ~np.eye(len(labels), dtype=bool) if graph else np.ones(X1.shape, bool)
    noise = np.zeros((2, *X1.shape))
    for group in np.unique(groups):
        # The columns of a vector have means of their own, the edges between two groups share one.
        own, axis = (counted & (groups == group), None) if graph else (labels == group, 0)
        n = own.sum() / 2 if graph and group % (labels.max() + 2) == 0 else own.sum()  # pairs inside come twice
        means, deviations = zip(*((X[own].mean(axis=axis), X[own].std(axis=axis)) for X in (X1, X2)), strict=True)
        assert np.abs(means[0] - means[1]).max() < 5 * np.sqrt(2 / n) * np.max(deviations)
        for X, e, mean, deviation in zip((X1, X2), noise, means, deviations, strict=True):
            e[own] = (X[own] - mean) / deviation
        n = n if graph else noise[0][own].size
        assert abs((noise[0] * noise[1])[own].mean()) < 5 / np.sqrt(n)
    along = (noise[0] * noise[1]).sum(axis=1) / np.sqrt(counted.sum(axis=1))  # one for each object
    if counted.sum(axis=1).min() > 100:  # sums of that many products are normal
        assert np.abs(along).max() < 5.5
    assert 0.5 < (along**2).mean() < 2  # a copied row gives its length
    equal = (X1 == X2)[counted].mean()
    assert equal < 0.9 if graph else equal == 0


# Codes


@pytest.mark.parametrize(("n_clusters", "error_rate"), [(2, 0.1), (5, 0.4), (3, 0.0), (4, 1.0)])
def test_code_pairs_have_the_error_rate_and_no_preferred_error(n_clusters, error_rate):
    n = 20000
    sent, received = datasets.kary_code_pair(n, n_clusters, error_rate, random_state=SEED)
    assert np.ptp(np.bincount(sent, minlength=n_clusters)) <= 1
    wrong = sent != received
    assert within_four_sigma(wrong.mean(), error_rate, n)
    if wrong.any():
        steps = np.bincount((received - sent)[wrong] % n_clusters, minlength=n_clusters)[1:] / wrong.sum()
        assert all(within_four_sigma(step, 1 / (n_clusters - 1), wrong.sum()) for step in steps)


def test_histograms_have_the_frequencies_of_their_mixture():
    """Quadrature of the densities, cut off at 0 and 1."""
    X, labels, weights = datasets.mixed_histograms(40, 2, n_counts=500, n_bins=16, random_state=SEED)
    grid = (np.arange(16_000) + 0.5) / 16_000
    density = np.exp(-0.5 * ((grid - np.linspace(0, 1, 8)[:, None]) / 0.08) ** 2)
    bins = (density / density.sum(axis=1, keepdims=True)).reshape(8, 16, -1).sum(axis=2)
    assert (X.sum(axis=1) == 500).all() and np.bincount(labels).tolist() == [20, 20]
    for k in range(2):
        for rate, expected in zip(X[labels == k].sum(axis=0) / 10_000, weights[k] @ bins, strict=True):
            assert within_four_sigma(rate, expected, 10_000)


def test_regions_have_their_grey_and_their_noise():
    image, labels = datasets.three_regions(shape=(100, 150), noise=0.4, random_state=SEED)
    noise = image - labels / 2
    assert np.unique(labels).tolist() == [0, 1, 2] and abs(noise.std() / 0.4 - 1) < 4 / np.sqrt(2 * noise.size)
    assert abs((labels == 2).sum() - np.pi * 30**2) < 0.02 * np.pi * 30**2  # the disc's area


# Bad arguments


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: datasets.paired_gaussian_sources(2, np.eye(3)), ValueError, "n_clusters=3 .* n_objects=2"),
        (lambda: datasets.paired_gaussian_sources(5, np.zeros(3)), ValueError, r"centers .* got shape \(3,\)"),
        (lambda: datasets.paired_gaussian_sources(5, [[np.nan]]), ValueError, "centers must be a finite"),
        (lambda: datasets.paired_gaussian_sources(5, np.eye(2), variance=-1.0), ValueError, "variance=-1"),
        (lambda: datasets.paired_gaussian_sources(5, np.eye(2), variance=[1.0, 1, 1]), ValueError, "one number or 2"),
        (lambda: datasets.paired_gaussian_sources(5, np.eye(2), sizes=[2, 2]), ValueError, r"sizes=\[2, 2\] .*=5"),
        (lambda: datasets.paired_gaussian_sources(5.0, np.eye(2)), TypeError, "n_objects must be an integer"),
        (
            lambda: datasets.five_gaussians(10, random_state="seed"),
            TypeError,
            "random_state=.* accepted are an integer",
        ),
        (lambda: datasets.five_gaussians(10, random_state=-1), ValueError, "random_state=-1"),
        (lambda: datasets.two_sources_high_dimensional(5, 1), ValueError, "n_features=1"),
        (lambda: datasets.three_sources(np.inf), ValueError, "separation=inf"),
        (lambda: datasets.two_clouds(np.nan), ValueError, "variance=nan"),
        (lambda: datasets.planted_correlation_graphs(10, 0), ValueError, "n_clusters=0"),
        (lambda: datasets.planted_correlation_graphs(10, 11), ValueError, "n_clusters=11"),
        (lambda: datasets.planted_correlation_graphs(10, noise=1.2), ValueError, r"noise=1\.2 .*<= 1\.0"),
        (lambda: datasets.planted_correlation_graphs(10, complexity=-0.1), ValueError, "complexity=-0.1"),
        (lambda: datasets.planted_group_graphs(0), ValueError, "n_per_group=0"),
        (lambda: datasets.kary_code_pair(10, 1, 0.1), ValueError, "n_clusters=1 must be >= 2"),
        (lambda: datasets.kary_code_pair(10, 2, 1.1), ValueError, "error_rate=1.1"),
        (lambda: datasets.mixed_histograms(3, 4), ValueError, "n_clusters=4"),
        (lambda: datasets.mixed_histograms(n_counts=0), ValueError, "n_counts=0"),
        (lambda: datasets.mixed_histograms(n_bins=0), ValueError, "n_bins=0"),
        (lambda: datasets.mixed_histograms(concentration=0.0), ValueError, "concentration=0"),
        (lambda: datasets.three_regions(shape=(0, 4)), ValueError, "shape=0"),
        (lambda: datasets.three_regions(noise=-0.1), ValueError, "noise=-0.1"),
        (lambda: datasets.load_access_control("x"), ValueError, "name='x' is not one of 'domino'"),
        (lambda: datasets.load_image("lenna"), ValueError, "name='lenna' is not one of 'china', 'flower'"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Embedded data


def test_images_are_grey():
    for name in ("china", "flower"):
        image = datasets.load_image(name)
        assert image.shape == (427, 640) and image.dtype == np.float64 and 0 <= image.min() < image.max() <= 255
        grey = Image.fromarray(load_sample_image(f"{name}.jpg")).convert("L")  # rounded luma of ITU-R 601
        assert np.abs(image - np.asarray(grey, float)).max() < 1


# Files that are not embedded: made-up twins always run, the real ones where they are


@pytest.fixture
def write(folder, monkeypatch):
    """Put a table into GENCAP_DATA as the registered one."""

    def write(name, text):
        content = gzip.compress(text.encode())
        (folder / sources.SOURCES[name]["file"]).write_bytes(content)
        source = sources.SOURCES[name] | {"sha256": hashlib.sha256(content).hexdigest()}
        monkeypatch.setitem(sources.SOURCES, name, source)

    return write


def real(name):
    state = next(row.state for row in datasets.registry() if row.name == name)
    if state != "GENCAP_DATA":
        pytest.skip(f"{sources.SOURCES[name]['file']} is not here: set GENCAP_DATA to the folder that holds it")


def test_webkb_twin(write):
    write("webkb", "university\tpage_type\tword_ids\nb\tcourse\t0 3\na\tstudent\t\nb\tstudent\t1\n")
    pages = datasets.load_webkb()
    assert pages.data.shape == (3, 1703) and pages.data.dtype == np.uint8
    assert np.argwhere(pages.data).tolist() == [[0, 0], [0, 3], [2, 1]]
    assert pages.university.tolist() == [1, 0, 1] and pages.university_names.tolist() == ["a", "b"]
    assert pages.page_type.tolist() == [0, 1, 1] and pages.page_type_names.tolist() == ["course", "student"]
    for word in ("-1", "1703", "999999999", "1.5", "x"):
        write("webkb", f"university\tpage_type\tword_ids\nb\tcourse\t0 {word}\n")
        with pytest.raises(ValueError, match=f"1703.tsv.gz: word id '{word}', accepted are 0 to 1702"):
            datasets.load_webkb()


def test_webkb():
    real("webkb")
    pages = datasets.load_webkb()
    assert pages.data.shape == (877, 1703) and set(np.unique(pages.data)) == {0, 1} and pages.data.any(axis=0).all()
    assert len(pages.university_names) == 4 and len(pages.page_type_names) == 5


def test_access_control_twin(write):
    write("access_domino", "user,permission\n1,1\n2,3\n1,2\n")
    assert datasets.load_access_control("domino").data.tolist() == [[True, True, False], [False, False, True]]
    write("access_domino", "user,permission\n0,1\n")
    with pytest.raises(ValueError, match="counted from 1, got 0"):
        datasets.load_access_control("domino")
    write("access_domino", "user,permission\n1,1\n999999999,2\n")
    with pytest.raises(ValueError, match="domino.csv.gz: .*got 1 to 999999999 in 2 pairs"):
        datasets.load_access_control("domino")


@pytest.mark.parametrize(
    ("name", "shape", "pairs"),
    [
        ("domino", (79, 231), 730),
        ("healthcare", (46, 46), 1486),
        ("emea", (35, 3046), 7220),
        ("americas_small", (3477, 1587), 105205),
    ],
)
def test_access_control(name, shape, pairs):
    real(f"access_{name}")
    data = datasets.load_access_control(name).data
    assert data.shape == shape and data.sum() == pairs


def test_files_of_another_form_are_refused(write):
    for name, load in (("webkb", datasets.load_webkb), ("access_emea", lambda: datasets.load_access_control("emea"))):
        write(name, "a,b\n1,2\n")
        with pytest.raises(ValueError, match="header"):
            load()


def test_sizes_centers_and_seeds_of_the_wrong_kind_are_named():
    for call, message in (
        (lambda: datasets.three_sources(1.0, sizes=5), "sizes=.* must hold 3 numbers"),
        (lambda: datasets.paired_gaussian_sources(4, [["a"]]), "centers is no array of numbers"),
        (lambda: datasets.five_gaussians(10, random_state=-1), "random_state=-1 must be >= 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="random_state=1.5 .*accepted are an integer"):
        datasets.five_gaussians(10, random_state=1.5)


@pytest.mark.parametrize("shape", [5, (3,), (3, 4, 5), None])
def test_a_shape_that_is_no_pair_is_named(shape):
    with pytest.raises(ValueError, match="shape=.* must be .height, width"):
        datasets.three_regions(shape=shape)
