"""Tables of gene expression: the same table in every format, faulty files by their messages, the real tables."""

import csv
import gzip
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.impute import KNNImputer

from gencap.datasets.expression import load_expression
from gencap.datasets.loaders import load_mussel, load_yeast

SEED = 5
DATA = np.array([[0.5, np.nan, -1.25], [2.0, 0.0, 1e-3], [-7.0, 3.5, np.nan], [1.0, 2.0, 4.0]])
GENES = ["YA", "YB, putative", "Y C", "YD"]
CONDITIONS = ["alpha 0", "alpha 7", "heat, 5 min"]
FORMATS = ("csv", "tsv", "cluster", "pcl", "cdt", "geo")


def cells(data, missing=""):
    return [[missing if np.isnan(value) else repr(float(value)) for value in row] for row in data]


def lines_of(kind, data, genes, conditions, missing=""):
    """The table as lists of cells of a text file of this kind; metadata are lists of one cell."""
    body = cells(data, missing)
    n = len(conditions)
    if kind in ("csv", "tsv"):
        return [["gene", *conditions], *([gene, *row] for gene, row in zip(genes, body, strict=True))]
    if kind == "cluster":
        return [["UID", "NAME", *conditions], *([g, f"{g} name", *row] for g, row in zip(genes, body, strict=True))]
    rows = [[gene, f'the "{gene}" gene', "1", *row] for gene, row in zip(genes, body, strict=True)]
    if kind == "pcl":
        return [["YORF", "NAME", "GWEIGHT", *conditions], ["EWEIGHT", "", "", *["1"] * n], *rows]
    if kind == "cdt":
        return [
            ["GID", "UID", "NAME", "GWEIGHT", *conditions],
            ["AID", "", "", "", *(f"ARRY{j}X" for j in range(n))],
            ["EWEIGHT", "", "", "", *["1.000000"] * n],
            *([f"GENE{i}X", *row] for i, row in enumerate(rows)),
        ]
    samples = [f"GSM{j}" for j in range(n)]
    return [
        ['!Series_title\t"An odd " quote, and 5 µm"'],
        [],
        ["!Sample_title", *conditions],
        ["!Sample_geo_accession", *samples],
        ["!series_matrix_table_begin"],
        ["ID_REF", *samples],
        *([gene, *row] for gene, row in zip(genes, body, strict=True)),
        ["!series_matrix_table_end"],
    ]


def write(folder, kind, table, end="\n", bom="", quoted=False, zipped=False):
    """Write lists of cells; return the path."""
    delimiter = "," if kind == "csv" else "\t"
    name = {"cluster": "table.txt", "geo": "GSE1_series_matrix.txt"}.get(kind, f"table.{kind}")
    path = folder / (name + ".gz" * zipped)
    text = bom
    for row in table:
        if row and row[0].startswith("!Series"):
            text += row[0] + end
            continue
        mark = ['"' if quoted and i or delimiter in cell or '"' in cell else "" for i, cell in enumerate(row)]
        text += delimiter.join(m + c.replace('"', '""') + m for m, c in zip(mark, row, strict=True)) + end
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return path


def same(found, data=DATA, genes=GENES, conditions=CONDITIONS):
    assert found.data.dtype == np.float64 and np.array_equal(found.data, data, equal_nan=True)
    assert found.genes.tolist() == list(genes) and found.conditions.tolist() == list(conditions)
    assert found.n_missing == np.isnan(data).sum()


# Formats


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "style",
    [
        {},
        {"end": "\r\n", "bom": "\ufeff"},
        {"end": "\r"},
        {"quoted": True},
        {"zipped": True},
    ],
)
def test_every_format_gives_the_same_table(tmp_path, kind, style):
    found = load_expression(write(tmp_path, kind, lines_of(kind, DATA, GENES, CONDITIONS), **style))
    same(found)
    assert found.classes is None and found.class_names is None
    name = {"csv": "CSV", "tsv": "TSV", "geo": "GEO series matrix"}.get(kind, "Cluster/TreeView")
    assert found.description.startswith(f"4 genes x 3 conditions ({name}, ")
    assert found.description.endswith("2 missing values as NaN")


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null", "nan", " "])
@pytest.mark.parametrize("kind", ["csv", "cdt", "geo"])
def test_marks_of_missing_values(tmp_path, kind, missing):
    same(load_expression(write(tmp_path, kind, lines_of(kind, DATA, GENES, CONDITIONS, missing))))


@pytest.mark.parametrize("ending", ["\n\n", "\n,,,\n", "\n \n,,,\n\n", ""])
def test_blank_lines_and_columns_are_no_data(tmp_path, ending):
    path = tmp_path / "a.csv"
    path.write_text("\n,a,b,\nYA,1,2,\n\nYB,3,,  " + ending)
    same(load_expression(path), np.array([[1, 2], [3, np.nan]]), ["YA", "YB"], ["a", "b"])


def test_the_content_decides_and_the_ending_only_between_tabs_and_commas(tmp_path):
    text = "gene\tat 0, cold\tat 5, cold\nYA\t1\t2\nYB\t3\t4\n"
    (tmp_path / "a.dat").write_text(text)
    same(load_expression(tmp_path / "a.dat"), np.array([[1.0, 2], [3, 4]]), ["YA", "YB"], ["at 0, cold", "at 5, cold"])
    (tmp_path / "a.csv").write_text("gene,a\tb,c\nYA,1,2\nYB,3,4\n")
    assert load_expression(tmp_path / "a.csv").conditions.tolist() == ["a\tb", "c"]
    (tmp_path / "b.csv").write_text(text.replace(", cold", ""))
    assert load_expression(tmp_path / "b.csv").conditions.tolist() == ["at 0", "at 5"]


def test_numbers_may_be_names_of_genes_and_time_points(tmp_path):
    data, path = np.array([[1.0, 2], [4, 3]]), tmp_path / "a.csv"
    for corner in ("gene", ""):
        path.write_text(f"{corner},0.5,12\n1010,1,2\n1007,4,3\n")
        same(load_expression(path), data, ["1010", "1007"], ["0.5", "12"])
    path.write_text("time,1010,1007\n0.5,1,4\n12,2,3\n")
    same(load_expression(path, orientation="conditions"), data, ["1010", "1007"], ["0.5", "12"])


def test_weights_and_annotation_are_never_data(tmp_path):
    table = lines_of("pcl", DATA, GENES, CONDITIONS)
    table.append(table.pop(1))  # a sorted file has EWEIGHT at its end
    same(load_expression(write(tmp_path, "pcl", table)))
    table = lines_of("pcl", DATA, ["AID", "GID", "NAME", "GWEIGHT"], CONDITIONS)  # names of genes may look like it
    assert load_expression(write(tmp_path, "pcl", table)).genes.tolist() == ["AID", "GID", "NAME", "GWEIGHT"]
    (tmp_path / "b.csv").write_text("gene,a,b,kind\nAID,1,2,x\nYB,3,4,y\n")
    assert load_expression(tmp_path / "b.csv", class_column="kind").genes.tolist() == ["AID", "YB"]
    table = [row[1:] if row[0] == "GID" else row for row in lines_of("tsv", DATA, GENES, CONDITIONS)]
    table[0][0], table[1][0] = "GID", "GENE1X"  # the column of identifiers, not of tree nodes
    same(load_expression(write(tmp_path, "tsv", table)), genes=["GENE1X", *GENES[1:]])
    (tmp_path / "a.txt").write_text("YORF\tGORDER\ta\tb\nEORDER\t\t1\t2\nYA\t1\t1\t2\nYB\t2\t3\t4\n")
    assert load_expression(tmp_path / "a.txt").data.tolist() == [[1, 2], [3, 4]]
    (tmp_path / "a.csv").write_text("YORF,NAME,GWEIGHT,a,b\nEWEIGHT,,,1,1\nYA,x,1,1,2\nYB,y,1,3,4\n")
    assert load_expression(tmp_path / "a.csv").data.tolist() == [[1, 2], [3, 4]]


def test_samples_without_titles_of_their_own_go_by_accession(tmp_path):
    for titles in (None, ["x", "x", "y"], ["x", "", "y"], ["x", "y"]):
        table = lines_of("geo", DATA, GENES, CONDITIONS)
        table[2] = [] if titles is None else ["!Sample_title", *titles]
        same(load_expression(write(tmp_path, "geo", table)), conditions=["GSM0", "GSM1", "GSM2"])


def test_conditions_as_lines(tmp_path):
    table = lines_of("csv", DATA.T, CONDITIONS, GENES)
    same(load_expression(write(tmp_path, "csv", table), orientation="conditions"))
    classes = [table[0], ["kind", "b", "a", "b", "a"], *table[1:]]
    found = load_expression(write(tmp_path, "csv", classes), orientation="conditions", class_column="kind")
    same(found)
    assert found.classes.tolist() == [1, 0, 1, 0] and found.class_names.tolist() == ["a", "b"]


@pytest.mark.parametrize("column", [1, 2, 4])
def test_class_column_stands_anywhere(tmp_path, column):
    table = lines_of("csv", DATA, GENES, CONDITIONS)
    for row, name in zip(table, ["kind", "b", "a", "b", "NA"], strict=True):
        row.insert(column, name)
    found = load_expression(write(tmp_path, "csv", table), class_column="kind")
    same(found)
    assert found.classes.tolist() == [2, 1, 2, 0] and found.class_names.tolist() == ["NA", "a", "b"]
    table[3][-1 if column < 4 else -2] = "high"
    with pytest.raises(ValueError, match=f"line 4, column {5 if column < 4 else 4} .*'high'"):
        load_expression(write(tmp_path, "csv", table), class_column="kind")


def test_annotation_may_be_the_class(tmp_path):
    found = load_expression(write(tmp_path, "pcl", lines_of("pcl", DATA, GENES, CONDITIONS)), class_column="NAME")
    same(found)
    assert found.class_names[found.classes].tolist() == [f'the "{gene}" gene' for gene in GENES]


names = st.lists(
    st.text("abcXYZ019 ,;'\"µ-_|/", min_size=1, max_size=8).map(lambda text: "n" + text.strip()),
    min_size=2,
    max_size=6,
    unique=True,
)
numbers = st.floats(allow_nan=True, allow_infinity=False)


@pytest.mark.filterwarnings("ignore:.* taken as (data|logarithms)")
@settings(max_examples=60, deadline=None)
@given(st.data(), names, names, st.sampled_from(FORMATS), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_round_trip(tmp_path_factory, draw, genes, conditions, kind, quoted, end):
    data = draw.draw(arrays(float, (len(genes), len(conditions)), elements=numbers))
    data[:, 0], data[0] = np.nan_to_num(data[:, 0]), np.nan_to_num(data[0])  # no empty gene, no empty condition
    folder = tmp_path_factory.mktemp("round")
    same(
        load_expression(write(folder, kind, lines_of(kind, data, genes, conditions), end, quoted=quoted)),
        data,
        genes,
        conditions,
    )
    if kind in ("csv", "tsv"):
        turned = write(folder, kind, lines_of(kind, data.T, conditions, genes), end, quoted=quoted)
        same(load_expression(turned, orientation="conditions"), data, genes, conditions)


def test_python_writes_what_is_read(tmp_path):
    """Tables of another writer: the csv module and pandas."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DATA, index=GENES, columns=CONDITIONS)
    frame.to_csv(tmp_path / "a.csv.gz")
    same(load_expression(tmp_path / "a.csv.gz"))
    frame.to_csv(tmp_path / "a.tsv", sep="\t", na_rep="NA", quoting=csv.QUOTE_ALL)
    same(load_expression(tmp_path / "a.tsv"))


# Values


@pytest.mark.filterwarnings("ignore:.* taken as (data|logarithms)")
def test_raw_intensities(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("gene\ta\tb\nYA\t1024\t0.5\nYB\tNA\t1\n")
    assert np.array_equal(load_expression(path, values="raw").data, [[10, -1], [np.nan, 0]], equal_nan=True)
    for wrong in ("0", "-3"):
        path.write_text(f"gene\ta\tb\nYA\t1024\t0.5\nYB\t{wrong}\t1\n")
        with pytest.raises(ValueError, match=rf"line 3, column 2 \('a'\): '{wrong}'; accepted are intensities > 0"):
            load_expression(path, values="raw")
        assert load_expression(path).data[1, 0] == float(wrong)


@pytest.mark.parametrize("orientation", ["genes", "conditions"])
def test_imputation_is_along_the_genes(tmp_path, orientation):
    data = np.random.default_rng(SEED).standard_normal((30, 7))
    data[np.random.default_rng(SEED).random(data.shape) < 0.1] = np.nan
    genes, conditions = [f"g{i}" for i in range(30)], list("abcdefg")
    table = (data, genes, conditions) if orientation == "genes" else (data.T, conditions, genes)
    path = write(tmp_path, "tsv", lines_of("tsv", *table))
    mean, nearest = (load_expression(path, orientation=orientation, impute=how) for how in ("mean", "knn"))
    n_missing = np.isnan(data).sum()
    assert mean.n_missing == nearest.n_missing == n_missing > 10
    expected = data.copy()
    for row in expected:
        row[np.isnan(row)] = row[~np.isnan(row)].sum() / (~np.isnan(row)).sum()
    assert np.allclose(mean.data, expected, rtol=1e-14)
    assert np.array_equal(nearest.data, KNNImputer(n_neighbors=10).fit_transform(data))
    assert mean.description.endswith(f"; {n_missing} missing values as the gene's mean")
    assert nearest.description.endswith(f"; {n_missing} missing values as the 10 nearest genes' mean")


# Tables in the wild: spelling, case and place of marks, annotation, counts, spreadsheets

LOG = "0.4,-0.2\n0.3,0.8\n-0.5,0.1\n"
KEPT = [[0.4, -0.2], [0.3, 0.8], [-0.5, 0.1]]


def beside(header, *columns, ids="abc"):
    """CSV with the columns between the identifiers and the values of LOG."""
    rows = [",".join([name, *cells]) for name, *cells in zip(ids, *columns, strict=True)]
    return header + "".join(f"\n{row},{values}" for row, values in zip(rows, LOG.split("\n"), strict=False)) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "genes", "conditions", "data", "note"),
    [
        # marks of formats
        ("a.csv", "sep=,\ngene,k,l\na,1,2\nb,3,-4\n", {}, "ab", "kl", [[1, 2], [3, -4]], None),
        ("a.csv", '"SEP=;",,\r\ngene;k;l\r\na;1,5;-2\r\nb;,25;4e0\r\n', {}, "ab", "kl", [[1.5, -2], [0.25, 4]], None),
        ("a.csv", "sep=,,,\ngene,k,l,\na,1,2,,,\nb,3,-4\n", {}, "ab", "kl", [[1, 2], [3, -4]], None),
        (
            "a.gct",
            "#1.2\n2\t2\nName\tDescription\tk\tl\na\t7\t1\t2\nb\tx\t3\t-4\n",
            {},
            "ab",
            "kl",
            [[1, 2], [3, -4]],
            None,
        ),
        ("a.csv", "#1.2,,,\n2,2,,\nName,Description,k,l\na,7,1,2\nb,x,3,-4\n", {}, "ab", "kl", [[1, 2], [3, -4]], None),
        (
            "a.gct",
            "#1.3\n2\t2\t2\t1\nid\ts\tn\tk\tl\nsex\tna\tna\tm\tf\na\tx\t90\t1\t2\nb\ty\t70\t3\t-4\n",
            *({}, "ab", "kl", [[1, 2], [3, -4]], None),
        ),
        (
            "a.csv",
            '!Sample_title;k;l\n!Series_Matrix_Table_Begin;;\n"id_ref";G1;G2\na;1,5;2\nb;3;-4\n"!SERIES_MATRIX_TABLE_END";;\n',
            *({}, "ab", "kl", [[1.5, 2], [3, -4]], None),
        ),
        (
            "a.txt",
            "ID_REF\tk\tl\n7\t1\t2\n3\t3\t-4\n!series_matrix_table_end\n",
            {},
            "73",
            "kl",
            [[1, 2], [3, -4]],
            None,
        ),
        (
            "a.pcl",
            "ORF\tNAME\tARM\tGWEIGHT\tk\tl\nEWEIGHT\t\t\t\t1\t1\na\tx\t1\t1\t1\t2\nb\ty\t2\t1\t3\t-4\n",
            {},
            "ab",
            "kl",
            [[1, 2], [3, -4]],
            None,
        ),
        (
            "a.pcl",
            "ORF\tArm\tk\tl\n\tEWeight\t.5\t1\na\t1\t1\t2\nb\t2\t3\t-4\n",
            {},
            "ab",
            "kl",
            [[1, 2], [3, -4]],
            None,
        ),
        (
            "a.pcl",
            "uid\tGWeight\tname\tk\tl\na\t1\tx\t1\t2\nb\t1\ty\t3\t-4\neweight\t\t\t1\t1\n",
            {},
            "ab",
            "kl",
            [[1, 2], [3, -4]],
            None,
        ),
        ("a.txt", "uid\tk\tl\tgweight\na\t1\t2\t1\nb\t3\t-4\t1\n", {}, "ab", "kl", [[1, 2], [3, -4]], None),
        (
            "a.cdt",
            "gid\torf\tname\tgweight\tday\tday\tday (2)\naid\t\t\t\tarry1x\tarry0x\tarry2x\n"
            "gene1x\ta\tx\t1\t1\t2\t3\ngene0x\tb\ty\t1\t3\t-4\t5\n",
            *({}, "ab", ["day", "day (3)", "day (2)"], [[1, 2, 3], [3, -4, 5]], r"1 repeated names .*'day \(3\)'"),
        ),
        (
            "a.csv",
            "s,a,b\nk,1,3\nk,2,-4\n",
            {"orientation": "conditions"},
            "ab",
            ["k", "k (2)"],
            [[1, 2], [3, -4]],
            "1 repeated",
        ),
        # names
        ("a.csv", "gene,12,3,7\na,1,2,0.5\nb,3,-4,1\n", {}, "ab", ["12", "3", "7"], [[1, 2, 0.5], [3, -4, 1]], None),
        ("a.csv", "UNIQID,0.5,0.25\nTP,1,2\nACTB,3,-4\n", {}, ["TP", "ACTB"], ["0.5", "0.25"], [[1, 2], [3, -4]], None),
        ("a.csv", "ours,12,3\na1,1,2\nb2,3,-4\n", {}, ["a1", "b2"], ["12", "3"], [[1, 2], [3, -4]], None),
        *(
            (
                "a.csv",
                f"gene,k,l\n{name},1,2\nb,3,-4\nc,0,1\n",
                {},
                [name, "b", "c"],
                "kl",
                [[1, 2], [3, -4], [0, 1]],
                note,
            )
            for names, note in (
                (
                    ["1-Mar", "02-Sep-22", "Sep-02", "2023-03-01", "2023-03-01 00:00:00", "1. Mrz"],
                    "1 genes' names look like dates",
                ),
                (["3/1/2023", "01.03.23", "44256", "2.31E+13"], r"1 genes' names .*MARCH1 becomes 1-Mar\): '"),
                (["MARCH1", "SEP-203", "DEC-205", "YAL001C-1", "1.2.3", "12345", "mar"], None),
            )
            for name in names
        ),
        # annotation
        (
            "a.csv",
            beside("id,number,chromosome,k,l", ["4411", "90", "7"], ["17", "3", ""]),
            {},
            "abc",
            "kl",
            KEPT,
            "header and values: 'number', 'chromosome'; annotations=",
        ),
        (
            "a.csv",
            beside("id,Entrez ID,symbol,k,l", ["4411", "90", "7"], "xyz"),
            {"annotations": np.array(["symbol", "Entrez ID"])},
            "abc",
            "kl",
            KEPT,
            None,
        ),
        ("a.csv", beside("id,symbol,k,l", "xyz"), {"annotations": "id"}, "xyz", "kl", KEPT, None),
        (
            "a.csv",
            beside("id,symbol,kind,k,l", "xyz", "uvu"),
            {"annotations": ["symbol"], "class_column": "kind"},
            "abc",
            "kl",
            KEPT,
            None,
        ),
        (
            "a.csv",
            "id,k,l\nbatch,1,2\na,1,2\nb,3,-4\n",
            {"annotations": ["batch"]},
            "ab",
            "kl",
            [[1, 2], [3, -4]],
            None,
        ),
        (
            "a.csv",
            "id,mass,k,l\na,5021.5,1,.2\nb,987.25,.3,-4\n",
            {},
            "ab",
            ["mass", "k", "l"],
            [[5021.5, 1, 0.2], [987.25, 0.3, -4]],
            r"'mass' taken as data, annotation\? mean size 3004, .* annotations=\['mass'\] leaves out",
        ),
        (
            "a.csv",
            "id,number,k,l\na,50,1,.2\nb,9,.3,-4\n",
            {"annotations": []},
            "ab",
            ["number", "k", "l"],
            [[50, 1, 0.2], [9, 0.3, -4]],
            None,
        ),
        (
            "a.csv",
            "id,end,k,l\na,50,10,12\nb,9,73,42\n",
            {},
            "ab",
            ["end", "k", "l"],
            [[50, 10, 12], [9, 73, 42]],
            "'end' taken as data, annotation",
        ),
        # values
        (
            "a.csv",
            "id,k,l\na,0,140\nb,88,41\n",
            {},
            "ab",
            "kl",
            [[0, 140], [88, 41]],
            "from 0 to 140 .* like counts: values='counts'",
        ),
        (
            "a.csv",
            "id,k,l\na,8.5,140\nb,88,41\n",
            {},
            "ab",
            "kl",
            [[8.5, 140], [88, 41]],
            "from 8.5 to 140 .* like intensities: values='raw'",
        ),
        ("a.csv", "id,k,l\na,0,7\nb,1,\n", {"values": "counts"}, "ab", "kl", [[0, 3], [1, np.nan]], None),
        (
            "a.tsv",
            "id\tk\tl\tm\na\t1\t2\t\nb\tNA\tNA\tNA\nc\t3\t-4\tNA\nd\t\t\t\n",
            *({"drop_empty": True}, "ac", "kl", [[1, 2], [3, -4]], r"2 genes without any value \('b', 'd'\)"),
        ),
        (
            "a.csv",
            "id,cl,k,l\na,x,1,2\nb,y,,\nc,x,3,-4\n",
            {"drop_empty": True, "class_column": "cl"},
            "ac",
            "kl",
            [[1, 2], [3, -4]],
            r"1 genes without any value \('b'\)",
        ),
    ],
)
def test_tables_in_the_wild(tmp_path, name, text, options, genes, conditions, data, note):
    path = tmp_path / name
    path.write_bytes(
        text.encode("utf-16" if name == "a.txt" else "utf-8")
    )  # with a byte-order mark, as spreadsheets do
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        found = load_expression(path, **options)
    same(found, np.array(data, dtype=float), list(genes), list(conditions))
    if "class_column" in options:
        assert len(found.classes) == len(genes)
    assert (note is None) == (not notes)
    assert note is None or re.search(note, str(notes[0].message)) and str(path) in str(notes[0].message)


def test_what_is_not_there_or_has_no_logarithm_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("gene,a,b,c\nYA,1,2,3\nYB,3,-4,5\n")
    with pytest.raises(ValueError, match="a.csv: annotations name 'no', 'nope', accepted are e.g. 'gene', 'a', 'b'"):
        load_expression(path, annotations=["nope", "no", "a"])
    for values, wrong in (("raw", "intensities > 0 .values='counts' takes zeros, too"), ("counts", "counts >= 0")):
        with pytest.raises(ValueError, match=rf"line 3, column 3 \('b'\): '-4'; accepted are {wrong}"):
            load_expression(path, values=values)


# Faults

GEO = """!Sample_title\t"x"\t"y"
!series_matrix_table_begin
"ID_REF"\t"G1"\t"G2"
A\t1\t2
B\t3\t4
!series_matrix_table_end
"""
PCL = "YORF\tNAME\tGWEIGHT\ta\tb\nEWEIGHT\t\t\t1\t1\nYA\tfirst\t1\t1\t2\nYB\tsecond\t1\t3\t4\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        # no table at all
        ("a.csv", "", "line 1: '' is no header .*an empty file.*; accepted are CSV, tab-delimited"),
        ("a.csv", "\ufeff\n\n", "line 1: .* is no header"),
        ("a.txt", "\ngene a b\nYA 1 2\n", "line 2: 'gene a b' is no header with tabs or commas .* accepted are CSV"),
        (
            "a.csv",
            "gene;a;b\nYA;1,5;2\nYB;0.5;1\n",
            r"line 3, column 2 \('a'\): '0.5'; a point beside decimal commas",
        ),
        ("a.csv", 'gene;"a, 1";b\nYA;1.234,5;2\nYB;1;2\n', r"line 2, column 2 \('a, 1'\): '1.234,5'; a point beside"),
        (
            "a.html",
            "<!DOCTYPE html>\n<p>a, b</p>",
            "line 1: '<!DOCTYPE html>' is no header .*a web page.*; accepted are",
        ),
        ("a.csv", '<html lang="a,b">\n<p>a, b</p>', "line 1: '<html lang=\"a,b\">' is no header with"),
        ("a.txt", "0.5 -1e-3 2\n1 2 3\n", "line 1: '0.5 -1e-3 2' is no header with tabs or commas"),
        ("a.csv", "sep=,\n", "line 2: 0 lines and 0 columns"),
        ("a.csv", "\nsep=,\n\ngene,a,b\nYA,1,2\nYB,3,x\n", r"line 6, column 3 \('b'\): 'x'"),
        ("a.gct", "#1.2\n", "line 1: '#1.2' is no header"),
        ("a.txt", "^DATABASE = Geo\n!x = 1\n", "line 1: '\\^DATABASE = Geo' is no header"),
        # header
        ("a.csv", "gene,a,b\n", "line 1: 1 lines and 3 columns; accepted are a header"),
        (
            "a.csv",
            "1,2,3\n4,5,6\n",
            r"line 1, column 2 \('2'\): numbers for names, is the header or the column of identifiers missing\?",
        ),
        ("a.csv", "YA,0.3,-1\nYB,1,2\n", r"line 1, column 2 \('0.3'\): numbers for names, is the header or"),
        ("a.csv", "YA,0.3,1,NA\nYB,1,2,3\n", r"line 1, column 2 \('0.3'\): numbers for names, is the header or"),
        (
            "a.csv",
            "a,b,c\n0.3,-1,2\n-1,2,3\n",
            r"line 2, column 1 \('a'\): numbers for names, is the header or the column of id",
        ),
        (
            "a.csv",
            "Q1,0.1,0.5,0.9\nQ2,1,2,3\n",
            r"line 1, column 2 \('0.1'\): numbers for names, is the header or",
        ),
        ("a.tsv", "TP53\t12\t7\t9\nACTB\t1\t2\t3\nKIT2\t1\t2\t3\n", "line 1, column 2 .*is the header or"),
        (
            "a.csv",
            "a,b,c\n5,8,0\n7,1,2\n5,1,3\n",
            "line 2, column 1 .*numbers for names, is the header or the column of identifiers missing",
        ),
        ("a.csv", "gene,a,b\nYA,1\n", "line 2: 2 cells, accepted are 3 as in the header, which names"),
        ("a.csv", "a,b\nYA,1,2\n", r"line 2: 3 cells, accepted are 2 as in the header, which names the identifiers"),
        ("a.csv", "gene,a,b\nYA,1,2\n\n\nYB,3,4,5\n", "line 5: 4 cells, accepted are 3"),
        ("a.csv", 'gene,"a\nnew line",b\nYA,1,2\nYB,3\n', "line 4: 2 cells"),
        # names
        ("a.csv", "gene,a,b\nYA,1,2\nYA,3,4\n", r"line 3, column 1 \('gene'\): the same name as in line 2, column 1"),
        (
            "a.csv",
            "gene,a,b\n1-Mar,1,2\n1-Mar,3,4\n",
            "line 3, .* the same name as in line 2, column 1, made a date by",
        ),
        ("a.csv", "gene,a,\nYA,1,2\nYB,3,4\n", r"line 1, column 3 \(''\): no name"),
        ("a.csv", "gene,a,b\nYA,1,2\n ,3,4\n", r"line 3, column 1 \('gene'\): no name"),
        # values
        ("a.csv", "gene,a,b\nYA,1,2\nYB,3,high\n", r"line 3, column 3 \('b'\): 'high'; accepted are numbers"),
        ("a.csv", 'gene,a,b\nYA,1,2\nYB,"3,5",4\n', r"line 3, column 2 \('a'\): '3,5'; accepted are numbers"),
        ("a.tsv", "gene\ta\tb\nYA\t1,5\t2\nYB\t3\t4\n", r"line 2, column 2 \('a'\): '1,5'"),
        ("a.csv", "gene,a,b\nYA,1_000,2\nYB,3,4\n", r"line 2, column 2 \('a'\): '1_000'"),
        ("a.csv", "gene,a,b\nYA,1,2\nYB,\u0661,4\n", r"line 3, column 2 \('a'\): '\u0661'"),
        ("a.csv", "gene,a,b\nYA,1,inf\nYB,3,4\n", r"line 2, column 3 \('b'\): 'inf'"),
        ("a.csv", "gene,a,b\nYA,1,2\nYB,-1e999,4\n", r"line 3, column 2 \('a'\): '-1e999'; too large"),
        ("a.csv", "gene,a,b\nYA,1,#N/A\nYB,3,4\n", "line 2, column 3 .*'#N/A'.*; a missing value is an empty cell, NA"),
        ("a.csv", "gene,a,b\nYA,1,2\nYB,,NA\n", r"line 3, column 1 \('gene'\): 1 genes without any value"),
        (
            "a.tsv",
            "gene\ta\tb\nYA\t1\t2\nYB\t\tNA\nYC\t\t\nYD\t3\t4\n",
            r"line 3, .* 2 genes without any value \('YB', 'YC'\)",
        ),
        ("a.csv", "gene,a,b\nYA,1,\nYB,2,\n", r"line 1, column 3 \('b'\): 1 conditions without any value"),
        (
            "a.csv",
            "gene,a,b\nYA,1,2\n",
            r"line 1, column 1 \('gene'\): 1 genes x 2 conditions; accepted are at least 2",
        ),
        ("a.csv", "gene,a\nYA,1\nYB,2\n", r"line 1, column 1 \('gene'\): 2 genes x 1 conditions"),
        ("a.csv", "gene,kind,a,b\nYA,x,1,2\nYB,y,3,4\n", "line 2, column 2 .*'x'.*genes' classes.*class_column='kind'"),
        (
            "a.csv",
            "id,symbol,kind,a,b\nQ1,s,x,1,2\nQ2,t,y,3,4\n",
            r"line 2, .* left out \(annotations=\['symbol', 'kind'\]\)",
        ),
        ("a.csv", "id,chr,a,b\nQ1,7,1,2\nQ2,X,3,4\n", r"line 3, column 2 \('chr'\): 'X'.*annotations=\['chr'\]"),
        ("a.csv", "gene,a,b\nYA,5%,2\nYB,3%,4\n", r"line 2, column 2 \('a'\): '5%'; .* no %.* NaN or null$"),
        ("a.csv", "s,YA,YB,YC\nkind,x,y,x\na,3,4,5\n", "line 2, .*orientation='conditions', class_column='kind'"),
        ("a.csv", 'gene,a,b\nYA,1,2\nYB,"3,4\nYC,5,6\n', "line 3: .* accepted are cells, quoted as a whole"),
        # Cluster and GEO
        ("a.pcl", PCL.replace("\t4\n", "\tfour\n"), r"line 4, column 5 \('b'\): 'four'"),
        ("a.txt", PCL.replace("YB", "YA"), r"line 4, column 1 \('YORF'\): the same name as in line 3, column 1"),
        ("a.txt", GEO.replace("\t4\n", "\tfour\n"), r"line 5, column 3 \('y'\): 'four'"),
        ("a.txt", GEO.replace("!series_matrix_table_end", ""), "line 6: the file ends without a line !series_matrix_t"),
        ("a.txt", GEO.replace("ID_REF", "ID"), r"line 3, column 1 \('ID'\): accepted is the table's header, ID_REF"),
        ("a.txt", "!Series_title\t1\n", "line 1: the file ends without a line !series_matrix_table_begin"),
        ("a.txt", GEO.replace("A\t1\t2\nB\t3\t4\n", ""), "line 3: 1 lines and 3 columns"),
    ],
)
def test_faulty_files(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}, {message}"):
        load_expression(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "gene,a,b\nYA,1,2\nMüller,3,4\n".encode("latin-1"), ", line 3: 'M.ller,3,4.n' is no text in UTF-8"),
        ("a.txt", "gene\ta\tb\nYA\t1\t2\n".encode("utf-16")[:-1], ", line 2: .* is no text in UTF-8"),
        ("a.txt", "gene\ta\tb\n".encode("utf-16-le"), ", line 1: .* is no text in UTF-8"),
        ("a.xlsx", b"PK\3\4rest", ", line 1: .* is no text in UTF-8 .a workbook.*: save it as CSV"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ", line 1: .* is no text in UTF-8 .a workbook"),
        ("a.csv.gz", gzip.compress(b"gene,a,b\nYA,1,2\nYB,3,4\n", mtime=0)[:-9], " is a damaged .gz file"),
        ("a.csv.gz", gzip.compress(b"gene,a,b\nYA,1,2\nYB,3,x\n", mtime=0), r", line 3, column 3 \('b'\): 'x'"),
    ],
)
def test_files_that_are_no_text(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}{message}"):
        load_expression(path)


def test_a_folder_and_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no file; accepted is a full path, or one from"):
        load_expression(tmp_path)
    for load in (load_expression, load_mussel):
        with pytest.raises(FileNotFoundError, match="no_such_file.csv"):
            load(tmp_path / "no_such_file.csv")


def test_faults_of_a_turned_table_stand_where_the_file_has_them(tmp_path):
    path = tmp_path / "a.csv"
    for text, message in (
        ("sample,YA,YB,YC\na,1,2,3\nb,1,x,3\n", r"line 3, column 3 \('YB'\): 'x'"),
        ("sample,YA,YB,YA\na,1,2,3\nb,1,2,3\n", r"line 1, column 4 \('YA'\): the same name as in line 1, column 2"),
        ("sample,YA,YB,YC\na,1,,3\nb,1,,3\n", r"line 1, column 3 \('YB'\): 1 genes without any value"),
        ("sample,YA,YB,kind\na,1,2,x\nb,1,2,y\n", "line 2, column 4 .*orientation='genes', class_column='kind'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            load_expression(path, orientation="conditions")


def test_class_columns_that_are_not_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("gene,kind,a,b\nYA,x,1,2\nYB,,3,4\n")
    with pytest.raises(ValueError, match=r"line 3, column 2 \('kind'\): no class"):
        load_expression(path, class_column="kind")
    with pytest.raises(ValueError, match="line 1.*class_column='phase' is none of kind, a, b"):
        load_expression(path, class_column="phase")
    path.write_text("sample,YA,YB\nkind,x,y\na,1,2\nb,3,4\n")
    with pytest.raises(ValueError, match="class_column='kind' .*gene's name: orientation='conditions'"):
        load_expression(path, class_column="kind")
    assert load_expression(path, orientation="conditions", class_column="kind").classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_expression("x", values="ln"), "values='ln' is not one of 'log', 'raw', 'counts'"),
        (lambda: load_expression("x", orientation="rows"), "orientation='rows' is not one of 'genes', 'conditions'"),
        (lambda: load_expression("x", impute="zero"), "impute='zero' is not one of None, 'mean', 'knn'"),
        (lambda: load_yeast("eisen"), "subset='eisen' is not one of 'brown'"),
        (lambda: load_yeast(impute="zero"), "impute='zero' is not one of None, 'mean'"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Yeast


def test_brown_yeast():
    yeast = load_yeast("brown")
    assert yeast.data.shape == (186, 79) and yeast.data.dtype == np.float64
    assert np.isnan(yeast.data).sum() == yeast.n_missing == 214
    assert yeast.genes[0] == "YGR270W" and yeast.conditions[0] == "alpha_0" and len(set(yeast.genes)) == 186
    counts = dict(zip(yeast.class_names, np.bincount(yeast.classes), strict=True))
    assert counts == {"Ribo": 121, "Proteas": 35, "Resp": 30}
    shares = np.bincount(yeast.classes) / 186
    assert -(shares * np.log2(shares)).sum() == pytest.approx(1.282, abs=5e-4)
    assert "186 yeast genes" in yeast.description and "214 missing values as NaN" in yeast.description


def test_spellman_yeast():
    yeast = load_yeast("spellman")
    assert yeast.data.shape == (800, 77) and np.isnan(yeast.data).sum() == yeast.n_missing == 2643
    counts = dict(zip(yeast.class_names, np.bincount(yeast.classes), strict=True))
    assert counts == {"G1": 300, "G2": 120, "M": 196, "M/G1": 113, "S": 71}


@pytest.mark.parametrize("subset", ["brown", "spellman"])
def test_imputation_touches_only_missing_values(subset):
    raw = load_yeast(subset).data
    known = ~np.isnan(raw)
    mean, nearest = (load_yeast(subset, impute=impute).data for impute in ("mean", "knn"))
    for filled in (mean, nearest):
        assert np.isfinite(filled).all() and np.array_equal(filled[known], raw[known])
    assert np.allclose(mean.mean(axis=1), np.nanmean(raw, axis=1))


def test_nearest_genes_predict_hidden_values_better_than_the_mean(tmp_path):
    truth = load_yeast("brown", impute="mean")
    hidden = np.random.default_rng(SEED).random(truth.data.shape) < 0.05
    values = np.where(hidden, "", truth.data.astype(str))
    lines = [",".join([gene, *row]) for gene, row in zip(truth.genes, values, strict=True)]
    path = tmp_path / "yeast.csv"
    path.write_text("\n".join([",".join(["orf", *truth.conditions]), *lines]))
    error = {how: np.abs(load_expression(path, impute=how).data - truth.data)[hidden].mean() for how in ("mean", "knn")}
    assert error["knn"] < 0.8 * error["mean"]


def test_full_yeast():
    yeast, brown = load_yeast("all"), load_yeast("brown")
    assert yeast.data.shape == (2467, 79) and np.isfinite(yeast.data).all() and yeast.n_missing == 0
    rows = [yeast.genes.tolist().index(gene) for gene in brown.genes]
    known = ~np.isnan(brown.data)
    correlation = [np.corrcoef(a[k], b[k])[0, 1] for a, b, k in zip(yeast.data[rows], brown.data, known, strict=True)]
    assert min(correlation) > 0.99  # the same profiles up to a constant factor for each gene


# Mussels

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def mussel_twin(n_genes, months, seed=SEED):
    data = np.random.default_rng(seed).standard_normal((n_genes, len(months)))
    data[0, 1] = np.nan
    return data, [f"M{i}" for i in range(n_genes)], months


@pytest.mark.parametrize("kind", ["csv", "tsv", "geo"])
@pytest.mark.parametrize("months", [MONTHS, MONTHS[1:], MONTHS[2:]])
def test_mussel_twin(tmp_path, kind, months):
    twin = mussel_twin(295, months)
    path = write(tmp_path, kind, lines_of(kind, *twin))
    mussel = load_mussel(path)
    same(mussel, *twin)
    shape = f"295 mussel genes x {len(months)} months, from {path.name}"
    assert mussel.description == f"{shape}; 1 missing values as NaN"
    filled = load_mussel(path, impute="mean")
    assert filled.data[0, 1] == pytest.approx(np.nanmean(twin[0][0]))
    assert filled.description == f"{shape}; 1 missing values as the gene's mean"


def test_mussel_tables_of_another_size(tmp_path):
    path = write(tmp_path, "csv", lines_of("csv", *mussel_twin(20, MONTHS)))
    assert load_mussel(path).description.startswith("20 mussel genes (295 in the publication) x 12 months")
    path = write(tmp_path, "csv", lines_of("csv", *mussel_twin(20, MONTHS[:9])))
    with pytest.raises(ValueError, match="20 genes x 9 columns of values; accepted are 10 to 12, one a month"):
        load_mussel(path)
    path = write(tmp_path, "csv", lines_of("csv", *mussel_twin(12, [f"M{j}" for j in range(295)])))
    with pytest.raises(ValueError, match=r"12 genes x 295 columns of values \(months as lines\?"):
        load_mussel(path)
