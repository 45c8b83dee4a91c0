"""Files of one's own: each kind is known by its cells, each fault named with its place, and nothing is lost unsaid."""

import gzip
import re
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import gencap as gc
from gencap.datasets import read_own
from gencap.resources import data_path

NAMES = [f"g{n}" for n in range(30)]
TABLE = pandas.DataFrame(np.random.default_rng(0).standard_normal((30, 5)).round(3), NAMES, list("abcde"))
SIMILAR = pandas.DataFrame(np.corrcoef(TABLE), NAMES, NAMES)
DISTANT = 1 - SIMILAR.abs().clip(upper=1).round(6)
RING = [(a, (a + step) % 30) for a in range(30) for step in (1, 2)]  # edges


def ring(names=NAMES, sep=",", weight="{}", head=""):
    return head + "".join(sep.join([names[a], names[b], weight.format(a + 1)]) + "\n" for a, b in RING)


def csv(frame, sep=",", **options):
    return frame.to_csv(sep=sep, **options)


@pytest.fixture
def read(tmp_path):
    """Writes a text (or bytes) into a file and reads it."""

    def from_text(text, name="own.csv", kind=None, **options):
        path = tmp_path / name
        raw = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return read_own(path, kind=kind, **options)

    return from_text


# Tables


@pytest.mark.parametrize(
    ("text", "name", "named", "columns"),
    [
        (csv(TABLE, index_label="gene"), "own.csv", True, list("abcde")),
        (csv(TABLE), "own.csv.gz", True, list("abcde")),
        (csv(TABLE, "\t"), "own.tsv", True, list("abcde")),
        (csv(TABLE, ";", decimal=","), "own.csv", True, list("abcde")),
        ("sep=,\n" + csv(TABLE, index_label="gene"), "own.csv", True, list("abcde")),
        (csv(TABLE, index=False), "own.csv", False, list("abcde")),
        (csv(TABLE, ";", index=False, decimal=","), "own.csv", False, list("abcde")),
        (csv(TABLE, header=False), "own.csv", True, None),
        (csv(TABLE, header=False, index=False), "own.csv", False, None),
        (csv(TABLE, " ", header=False, index=False), "own.txt", False, None),
        ("# made by hand\n" + csv(TABLE, " ", header=False), "own.txt.gz", True, None),
        ("a b c d e\n" + csv(TABLE, " ", header=False), "own.txt", True, list("abcde")),  # as R writes it
        ('"a" "b" "c" "d" "e"\n' + csv(TABLE, " ", header=False, quoting=2), "own.txt", True, list("abcde")),
        (csv(TABLE.set_axis([0, 5, 10, 20, 30], axis=1), index_label="gene"), "a.csv", True, "0 5 10 20 30".split()),
        (csv(TABLE.set_axis(range(30))), "own.csv", True, list("abcde")),
        (csv(TABLE.set_axis(range(1, 31)), header=False), "own.csv", True, None),
        (csv(TABLE.set_axis(range(900, 300, -20)), index_label="MGI"), "own.csv", True, list("abcde")),
        ("# of a program\n" + csv(TABLE, "\t", index_label="ID"), "own.tsv", True, list("abcde")),
        ("\ufeff" + csv(TABLE, lineterminator="\r\n"), "own.csv", True, list("abcde")),
    ],
)
def test_a_table_with_or_without_names(read, text, name, named, columns):
    own = read(text, name)
    assert (own.kind, own.named, own.columns) == ("table", named, columns or list("12345"))
    np.testing.assert_array_equal(own.data.to_numpy(), TABLE.to_numpy())
    assert own.objects == list(own.data.index) and own.columns == list(own.data.columns)
    assert own.classes is None and own.warnings == [] and "table of 30 x 5 (" in own.words and name in own.words
    assert ("1 lines of comments" in own.words) == text.startswith("# ")
    assert ("no names of rows" in own.words) == (not named) and ("no header" in own.words) == (columns is None)


def test_whole_numbers_are_names_where_they_count(read):
    counts = pandas.DataFrame(np.random.default_rng(0).integers(0, 9, (30, 5)))
    for names, named in ((range(1, 31), True), (range(30), True), (counts[0], False)):
        own = read(csv(counts.set_axis(names), header=False))
        assert own.named == named and own.data.shape == (30, 5 if named else 6)


def test_the_yeast_tables_with_their_classes():
    own = read_own(data_path("yeast_brown2000_186x79.csv"))
    known = gc.datasets.load_yeast("brown", impute="mean")
    np.testing.assert_allclose(own.data, known.data)
    assert own.classes.tolist() == [known.class_names[kind] for kind in known.classes]
    assert "214 missing values as the gene's mean (1.5%); classes from 'function', 3 names" in own.words
    assert read_own(data_path("yeast_eisen1998_2467x79.csv.gz")).data.shape == (2467, 79)


def test_text_columns_that_are_no_classes_are_refused_with_what_to_do(read):
    text = csv(TABLE.assign(note=[f"n{i}" for i in range(30)]), index_label="gene")
    with pytest.raises(ValueError, match=r"line 2, column 7 \('note'\): 'n0'.*class_column='note'.*annotations"):
        read(text)
    own = read(text, annotations=["note"], impute="knn")
    assert own.columns == list("abcde") and own.classes is None
    again = read(csv(TABLE.assign(kind=["x", "y"] * 15), index_label="gene"), class_column="kind")
    assert again.classes.tolist() == ["x", "y"] * 15 and again.columns == list("abcde")
    for text in (csv(TABLE, index=False), csv(SIMILAR), ring()):
        with pytest.raises(
            ValueError, match="own.csv, line [01], .*class_column='kind' is none of|the same name as in"
        ):
            read(text, class_column="kind")
    for kind in ("similarity", "edges"):
        with pytest.raises(ValueError, match=f"own.csv .CSV. is in doubt, or not of kind='{kind}'; say which"):
            read(text, kind=kind, class_column="kind")
    text = "# by hand\n" + csv(TABLE.assign(kind=["x", "y"] * 15), " ", header=False)  # without header: by its number
    assert read(text, class_column="6").classes.tolist() == read(text).classes.tolist() == ["x", "y"] * 15


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("impute", ["mean", "knn"])
def test_missing_values_are_counted_and_filled_alike(read, index, impute):
    gappy = TABLE.mask(np.random.default_rng(1).random(TABLE.shape) < 0.3)
    gappy = gappy[gappy.notna().any(axis=1)]
    own = read(csv(gappy, index=index), impute=impute)
    wanted = gappy.T.fillna(gappy.mean(axis=1)).T
    if impute == "knn":
        wanted = read(csv(gappy, index_label="gene"), impute="knn").data
    np.testing.assert_allclose(own.data, wanted)
    gaps = gappy.isna().sum().sum()
    assert f"{gaps} missing values as the" in own.words and f"({gaps / gappy.size:.1%})" in own.words
    assert any(re.match(r"\d\d% of the values were missing", text) for text in own.warnings)


def test_what_load_expression_leaves_out_is_said(read):
    gappy = TABLE.copy()
    gappy.iloc[3] = np.nan
    own = read(csv(gappy, index_label="gene"))
    assert len(own.objects) == 29 and "left out: 1 genes without any value ('g3')" in own.words
    assert own.warnings == []
    own = read(csv(TABLE.assign(chromosome=range(100, 130)), index_label="gene"))
    assert own.columns == list("abcde") and "left out as annotation by header and values: 'chromosome'" in own.words
    own = read(csv(gappy, index=False))
    assert len(own.objects) == 29 and "left out: 1 genes without any value ('4')" in own.words


def test_doubts_of_a_table(read):
    def said(frame):
        return " | ".join(read(csv(frame, index_label="gene")).warnings)

    assert said(TABLE) == ""
    frame = TABLE.copy()
    frame.iloc[[2, 5], :] = 0.5
    assert "2 constant rows have no correlation: 'g2', 'g5'" in said(frame)
    assert "1 rows are copies of others, which agree by themselves: 'g5'" in said(frame)
    assert "1 constant columns say nothing: 'b'" in said(TABLE.assign(b=1.5))
    assert "3 columns cannot be interleaved" in said(TABLE[["a", "b", "c"]])
    assert "24 objects are too few" in said(TABLE[:24]) and "too few" not in said(TABLE[:25])
    frame = TABLE.copy()
    frame.iloc[7] *= 100
    assert "1 rows lie over ten times as far from the median as others: 'g7'" in said(frame)
    raw = np.exp(3 * TABLE)
    assert "look like intensities: values='raw'" in " ".join(read(csv(raw, index=False)).warnings)
    assert said(raw).count("look like") == 1  # load_expression's own words
    assert "look like raw intensities: take logarithms" in said(raw / 100)


# Matrices


@pytest.mark.parametrize(("frame", "kind"), [(SIMILAR, "similarity"), (DISTANT, "distance")])
@pytest.mark.parametrize(
    "options",
    [{}, {"sep": "\t"}, {"sep": " "}, {"index": False}, {"header": False}, {"index": False, "header": False}],
    ids=str,
)
def test_a_matrix_is_known_by_its_diagonal(read, frame, kind, options):
    own = read(csv(frame, **options))
    named = options.get("index", True) or options.get("header", True)
    assert (own.kind, own.named, own.columns, own.warnings) == (kind, named, None, [])
    assert own.objects == (NAMES if named else [str(n + 1) for n in range(30)])
    np.testing.assert_allclose(own.data, frame, atol=1e-12)
    assert np.array_equal(own.data, own.data.T) and f"{kind} of 30 objects" in own.words
    gc.checks.check_similarity("own", own.data)


def test_a_matrix_with_columns_in_another_order_numbers_as_names_or_another_kind(read):
    order = np.random.default_rng(0).permutation(30)
    np.testing.assert_allclose(read(csv(SIMILAR.iloc[:, order])).data, SIMILAR)
    numbered = SIMILAR.set_axis(range(7, 37)).set_axis(range(7, 37), axis=1)
    assert read(csv(numbered)).objects == [str(n) for n in range(7, 37)]
    signed = SIMILAR.to_numpy() - np.diag(np.ones(30))
    for neither in (signed, dense().to_numpy()):  # the second one holds a graph's weights
        with pytest.raises(ValueError, match="a symmetric matrix, its diagonal .*accepted are .*which: kind='table'"):
            read(csv(pandas.DataFrame(neither, NAMES, NAMES)))
    assert read(csv(pandas.DataFrame(signed, NAMES, NAMES)), kind="similarity").kind == "similarity"
    assert read(csv(DISTANT), kind="similarity").kind == "similarity"
    assert read(csv(SIMILAR), kind="table").data.shape == (30, 30)


def test_arrays(tmp_path):
    for name, values, kind in (
        ("a.npy", TABLE.to_numpy(), "table"),
        ("b.npy", SIMILAR.to_numpy(), "similarity"),
        ("c.npy", DISTANT.to_numpy(), "distance"),
    ):
        np.save(tmp_path / name, values)
        own = read_own(tmp_path / name)
        assert own.kind == kind and not own.named
        np.testing.assert_allclose(own.data, values)
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).random((20, 150)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_own(tmp_path / "wide.npy").data.shape == (20, 150)
    values = TABLE.to_numpy().copy()
    values[0, 0] = np.nan
    np.save(tmp_path / "f.npy", values)
    assert "1 missing values" in read_own(tmp_path / "f.npy").words


# Edges


def dense(names=NAMES, weight=lambda a: a + 1.0):
    wanted = pandas.DataFrame(0.0, names, names)
    for a, b in RING:
        wanted.iloc[a, b] = wanted.iloc[b, a] = weight(a)
    return wanted


NUMBERED = [str(n) for n in range(30)]


@pytest.mark.parametrize(
    ("text", "name", "names"),
    [
        (ring(), "own.csv", NAMES),
        (ring(sep="\t"), "own.tsv.gz", NAMES),
        (ring(sep=" "), "own.txt", NAMES),
        (ring(head="protein1,protein2,score\n"), "own.csv", NAMES),
        (ring(head="# a comment, with a comma\n% another\n"), "own.csv", NAMES),
        (ring(NUMBERED), "own.csv", NUMBERED),
        (ring(NUMBERED, head="a,b,w\n"), "own.csv", NUMBERED),
        (ring() + "g1,g0,1\n" + "g4,g4,9\n", "own.csv", NAMES),
    ],
)
def test_edges(read, text, name, names):
    own = read(text, name)
    assert own.kind == "edges" and own.named and sorted(own.objects) == sorted(names)
    assert isinstance(own.data, scipy.sparse.csr_array)
    found = pandas.DataFrame(own.data.toarray(), own.objects, own.objects).loc[names, names]
    pandas.testing.assert_frame_equal(found, dense(names))
    assert "edges of 30 objects" in own.words and "60 edges" in own.words
    assert ("1 of an object with itself left out; 1 given again" in own.words) == ("g4,g4" in text)
    gc.checks.check_similarity("own", own.data)


@pytest.mark.parametrize("head", ["", "source,target\n"])
def test_edges_without_weights_count_one(read, head):
    own = read(head + "".join(f"{NAMES[a]},{NAMES[b]}\n" for a, b in RING))
    assert own.kind == "edges" and len(own.objects) == 30
    found = pandas.DataFrame(own.data.toarray(), own.objects, own.objects).loc[NAMES, NAMES]
    pandas.testing.assert_frame_equal(found, dense(weight=lambda a: 1.0))
    assert ("header 'source', 'target'" if head else "no header") in own.words


def test_edges_of_weight_0_are_none_and_their_objects_stay(read):
    own = read(ring() + "g0,lonely,0\ng1,lonely,0\n")
    assert own.data.shape == (31, 31) and "60 edges; 2 of weight 0 left out" in own.words
    assert not own.data[[own.objects.index("lonely")]].nnz


def test_few_cells_in_doubt_ask_for_the_kind(read):
    tree = "".join(f"{NAMES[n]},{NAMES[(n - 1) // 2]},1\n" for n in range(1, 30))
    with pytest.raises(ValueError, match="CSV. is in doubt.*which: kind='table', 'similarity', 'distance' or 'edges'"):
        read(tree)
    own = read(tree, kind="edges")
    assert own.data.nnz == 2 * 29 and scipy.sparse.csgraph.connected_components(own.data)[0] == 1
    numbers = pandas.DataFrame(np.arange(60).reshape(30, 2), NAMES, ["a", "b"])
    assert read(csv(numbers, index_label="gene")).kind == "table"


@settings(max_examples=40, deadline=None)
@given(st.integers(8, 14), st.integers(0, 10**6), st.booleans())
def test_any_graph_comes_back_as_it_was_written(tmp_path_factory, size, seed, turn):
    rng = np.random.default_rng(seed)
    wanted = np.triu(rng.integers(1, 9, (size, size)) * (rng.random((size, size)) < 0.7), 1) / 4
    wanted += np.diag(np.ones(size - 1), 1) * (np.diag(wanted, 1) == 0).all()
    rows = [(f"n{b}", f"n{a}") if turn and (a + b) % 2 else (f"n{a}", f"n{b}") for a, b in np.argwhere(wanted)]
    rows = [(*pair, wanted[a, b]) for pair, (a, b) in zip(rows, np.argwhere(wanted), strict=True)]
    path = tmp_path_factory.mktemp("graph") / "own.tsv"
    path.write_text("".join(f"{a}\t{b}\t{weight}\n" for a, b, weight in rng.permutation(np.array(rows, object))))
    known = sorted({name for row in rows for name in row[:2]})
    if len(known) < 8:
        return
    own = read_own(path, kind="edges")
    at = [int(name[1:]) for name in own.objects]
    assert sorted(own.objects) == known
    np.testing.assert_array_equal(own.data.toarray(), (wanted + wanted.T)[np.ix_(at, at)])


# Two files


def test_a_second_file_is_put_into_the_order_of_the_first(read):
    order = np.random.default_rng(0).permutation(30)
    first = read(csv(TABLE.assign(kind=["x", "y"] * 15), index_label="gene"))
    one, two = first.align(read(csv(TABLE.iloc[order, ::-1], index_label="gene"), "second.csv"))
    assert one.data.equals(first.data) and one.words == first.words
    pandas.testing.assert_frame_equal(two.data, TABLE.iloc[:, ::-1])
    assert "objects put into the order of own.csv" in two.words
    gc.replicates(one.data, two.data)
    same = first.align(first)[1]
    assert same.words == first.words and same.data.equals(first.data)
    one, two = first.align(read(csv(TABLE.iloc[order[:27]], index_label="gene"), "second.csv"))
    kept = [name for name in NAMES if name in TABLE.index[order[:27]]]
    assert one.objects == two.objects == kept == list(one.data.index) == list(two.data.index)
    assert one.classes.tolist() == [["x", "y"][NAMES.index(name) % 2] for name in kept]
    for own in (one, two):
        assert "left out: 3 objects that only one of own.csv, second.csv has" in own.words
        assert set(re.findall(r"'(g\d+)'", own.words)) == set(NAMES) - set(kept)


def test_second_matrices_and_graphs_are_turned_on_both_sides(read):
    order = np.random.default_rng(0).permutation(30)
    first, second = read(csv(SIMILAR)), read(csv(SIMILAR.iloc[order, order]), "b.csv")
    pandas.testing.assert_frame_equal(first.align(second)[1].data, first.data)
    lines = ring().splitlines(keepends=True)
    graph, other = read("".join(lines)), read("".join(lines[n] for n in np.r_[30:60, 0:30]), "b.csv")
    assert graph.objects != other.objects
    np.testing.assert_array_equal(graph.align(other)[1].data.toarray(), graph.data.toarray())


def test_second_files_that_do_not_fit(read):
    first = read(csv(TABLE, index_label="gene"))
    with pytest.raises(ValueError, match=r"share 26 objects, accepted are 90 % of the larger; 4 .*'g26', 'g27'"):
        first.align(read(csv(TABLE[:26], index_label="gene"), "b.csv"))
    with pytest.raises(ValueError, match="are 'table' and 'similarity'"):
        first.align(read(csv(SIMILAR), "b.csv"))
    with pytest.raises(ValueError, match="have 30 and 29 objects; accepted .* if not all are named, equal numbers"):
        first.align(read(csv(TABLE[:29], index=False), "b.csv"))
    second = first.align(read(csv(TABLE, index=False), "b.csv"))[1]
    assert second.objects == NAMES and list(second.data.index) == NAMES and "paired by position" in second.words


# Bad files


def changed(frame, row, column, value):
    frame = frame.astype(object)
    frame.iloc[row, column] = value
    return csv(frame, index_label="gene")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "{} is empty; accepted are text of tables"),
        ("\n \n# nothing\n", {}, "{} is empty"),
        (changed(TABLE, 3, 1, "high"), {}, r"{}, line 5, column 3 \('b'\): 'high'; accepted are numbers"),
        (csv(TABLE, index=False).replace("\n", ",x\n", 3), {"name": "a.csv"}, "{}, line 4: 5 cells; accepted are 6"),
        (changed(TABLE, 3, 1, "1e999"), {}, r"{}, line 5, column 3 \('b'\): '1e999'; too large"),
        (csv(TABLE.set_axis(["g0", *NAMES[:-1]])), {}, r"{}, line 3, column 1 .*the same name as in line 2"),
        (
            csv(TABLE.set_axis(["g0", *NAMES[:-1]]), header=False),
            {},
            "{}, line 2, column 1 .*the same name as in line 1",
        ),
        (csv(TABLE[:7]), {}, "{}: 7 x 5; accepted are 8 x 2"),
        (csv(TABLE[["a"]], header=False), {"kind": "table"}, "{}: 30 x 1; accepted are 8 x 2"),
        ("source,target\n", {"kind": "edges"}, "{}: 0 objects; accepted are 8 objects"),
        ("a,b,c\n", {}, "{}: 0 x 3; accepted are 8 x 2; accepted are text of tables"),
        ("<html>\n</html>\n", {}, "{}: 2 x 0; accepted are 8 x 2"),
        ("7\n" * 9, {}, "{}: 9 x 1; accepted are 8 x 2"),
        ("one line of words\n" * 9, {}, "{}, line 3, column 1 .'one'.: the same name as in line 2"),
        (
            "a b c\n" + "".join(f"n{n} 1 x{n}\n" for n in range(9)),
            {},
            r"{}, line 2, column 3 \('c'\): 'x0'; accepted are n",
        ),
        (
            csv(TABLE),
            {"kind": "distance"},
            r"{}: shape \(30, 5\) or names are not the same; accepted is a square; say which: kind=",
        ),
        (csv(TABLE), {"kind": "edges"}, "{}, line 1: 6 cells; accepted are two names and"),
        (changed(SIMILAR, 3, 9, 0.99), {}, "{} is not symmetric: .* from 'g3' to 'g9', .* back; accepted are equal"),
        (changed(SIMILAR, 3, 9, ""), {}, "{} .*: nan from 'g3' to 'g9', .* accepted are equal numbers, none missing"),
        (changed(SIMILAR, 3, 9, "far"), {}, r"{}, line 5, column 11 \('g9'\): 'far'; accepted are numbers"),
        (
            csv(SIMILAR),
            {"kind": "distance"},
            "{}: .*its diagonal 1 to 1, its least -.*; accepted are distances .0 there",
        ),
        (csv(SIMILAR.iloc[:, :29]), {"kind": "similarity"}, r"{}: shape \(30, 29\)"),
        (csv(SIMILAR.set_axis(["g1", *NAMES[1:]])), {"kind": "similarity"}, "{}, line 3, column 1 .*the same name"),
        (csv(SIMILAR.set_axis(["h", *NAMES[1:]])), {"kind": "similarity"}, "{}: .*names are not the same"),
        (
            csv(SIMILAR.set_axis(["g1", *NAMES[1:]]).set_axis(["g1", *NAMES[1:]], axis=1)),
            {},
            "{}, line 3, column 1 .*the same name",
        ),
        (ring() + "g1,g0,7\n", {}, "{}, line 61: 'g0' and 'g1': weight 7, in line 1 1; accepted is one weight"),
        (ring() + "g1,g0\n", {"kind": "edges"}, "{}, line 61: 2 cells; accepted are 3 as in"),
        (ring() + "g1,g5,near\n", {"kind": "edges"}, "{}, line 61: 'g1 g5 near'; accepted are two names and a finite"),
        (ring() + "g1,g5,\n", {"kind": "edges"}, "{}, line 61: 'g1 g5 '; accepted are two names and a finite"),
        (ring() + ",g5,1\n", {"kind": "edges"}, "{}, line 61: ' g5 1'; accepted are two names and a finite"),
        ("a,b,1\nb,c,2\nc,a,3\n", {"kind": "edges"}, "{}: 3 objects; accepted are 8 objects"),
        ("!Series_title\t1\n", {"kind": "edges"}, r"{} \(table\) is in doubt, or not of kind='edges'; say which"),
        (
            "gene,a,b\nM\xfcller,1,2\n".encode("latin-1"),
            {},
            "{}, line 2: .* is no text in UTF-8 .*accepted are text of",
        ),
        (b"PK\3\4rest", {"name": "a.xlsx"}, "{}, line 1: .* is no text in UTF-8 .a workbook.*save it as CSV"),
        (b"PAR1\0\0", {"name": "a.parquet"}, "{}, line 1: .* is no text"),
        (b"PK\3\4\0", {"name": "a.zip"}, "{}, line 1: .* is no text"),
        (b"nothing", {"name": "a.npy"}, "{}: .*; accepted are text of"),
        (b"", {"name": "a.npy"}, "{}: .*; accepted are text of"),
        (b"PK\3\4", {"name": "a.npz"}, "{}, line 1: .* is no text in UTF-8"),
        (csv(TABLE), {"kind": "graph"}, "kind='graph' is not one of None, 'table'"),
        (csv(TABLE), {"impute": None}, "impute=None is not one of 'mean', 'knn'"),
    ],
)
def test_bad_files(read, tmp_path, text, options, message):
    name = options.get("name", "own.csv")
    with pytest.raises(ValueError, match="^" + message.replace("{}", re.escape(str(tmp_path / name)))):
        read(text, **options)


def test_bad_arrays(tmp_path):
    skewed = SIMILAR.to_numpy().copy()
    skewed[2, 5] += 0.5
    np.save(tmp_path / "text.npy", np.array([["a", "b"]] * 9))
    np.save(tmp_path / "flat.npy", np.arange(9.0))
    np.save(tmp_path / "objects.npy", np.array([[None]] * 9), allow_pickle=True)
    np.save(tmp_path / "skewed.npy", skewed)
    for name, kind, message in (
        ("text.npy", None, "holds <U1, shape .9, 2.; accepted are two dimensions"),
        ("flat.npy", None, "holds float64, shape .9,.; accepted are two dimensions"),
        ("objects.npy", None, "Object arrays cannot be loaded.*accepted are"),
        ("skewed.npy", "similarity", "is not symmetric: .* from '3' to '6'"),
        ("skewed.npy", "edges", "line 1: 30 cells; accepted are two names"),
    ):
        with pytest.raises(ValueError, match=re.escape(str(tmp_path / name)) + ".*" + message):
            read_own(tmp_path / name, kind=kind)
    assert read_own(tmp_path / "skewed.npy").kind == "table"


@pytest.mark.parametrize("name", ["", "missing.csv", "missing.npy"])
def test_a_folder_and_a_missing_file(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="is no file; accepted is a full path"):
        read_own(tmp_path / name)


def test_the_cases_of_the_expression_reader_come_through(read):
    """Formats are theirs; the size is asked for here."""
    pcl = "uid\tname\tgweight\tk1\tk2\tk3\neweight\t\t\t1\t1\t1\n"
    pcl += "".join(f"Q{n}\tname {n}\t1\t{n % 5 / 4}\t{n % 3 / 2}\t{-n / 9}\n" for n in range(25))
    own = read(pcl, "own.pcl")
    assert own.data.shape == (25, 3) and own.columns == ["k1", "k2", "k3"] and "Cluster/TreeView" in own.words
    series = "!Sample_title,a,b\n!series_matrix_table_begin,,\nID_REF,GSM1,GSM2\n"
    own = read(series + "".join(f"Q{n},{n / 7:.2f},{-n / 9:.2f}\n" for n in range(25)) + "!series_matrix_table_end\n")
    assert own.data.shape == (25, 2) and own.columns == ["a", "b"] and "GEO series matrix" in own.words
    assert Path(own.path).name == "own.csv"
