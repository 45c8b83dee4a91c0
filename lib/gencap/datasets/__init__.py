"""Data: generators of synthetic sets, in pairs where a capacity needs two, and loaders of real ones.

Generators pair objects by construction: object i has the same source in both sets and independent noise. The two sets
come from two child generators of `random_state` (int, `numpy.random.Generator` or None), so that the second does not
depend on how many numbers the first drew.

Loaders return a scikit-learn `Bunch`; those of gene expression live in `expression`, those of data with several
labelings in `collections` (made ones: `crossed`). `read_own` takes any file of one's own (`files`). `registry` lists
the files of the lessons and where they are found (see `sources`).
"""

from .collections import *  # noqa: F403
from .crossed import *  # noqa: F403
from .expression import load_expression as load_expression
from .files import read_own as read_own
from .generators import *  # noqa: F403
from .loaders import *  # noqa: F403
from .sources import registry as registry
