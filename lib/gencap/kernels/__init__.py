"""Every jitted loop of the library: arrays in, arrays out, no Python objects, one thread each.

numba keeps machine code by the file of the function it belongs to. What a kernel inlines or takes its flags from
therefore stands in the same file, even if it stands in two: after a change elsewhere the old code would go on running.
"""

import os
import tempfile
import warnings

import numba


def _first():
    """A function of this folder."""


try:
    numba.njit(cache=True)(_first)
except RuntimeError:  # numba has no place to write: neither beside the code nor in the user's folder
    _CODE = tempfile.TemporaryDirectory(prefix="gencap-numba-")  # goes when Python ends
    os.environ["NUMBA_CACHE_DIR"] = _CODE.name  # for worker processes as well
    numba.config.reload_config()
    warnings.warn(f"neither {os.path.dirname(__file__)} nor the home folder can be written to, so machine code is not "
                  "kept and made again in every session (about a minute): set the environment variable "
                  "NUMBA_CACHE_DIR to a folder for it", stacklevel=2)  # fmt: skip
