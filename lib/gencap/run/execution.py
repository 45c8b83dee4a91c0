"""Executing notebooks: in a kernel that the user's own settings do not change, and that never outlives its run."""

import logging
import os
import re
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path

# Two threads inside a sweep are slower than one, and notebooks run side by side.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
UTF8 = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}  # of pipes and files, whatever the system's code page

QUIET = logging.Logger("", logging.CRITICAL + 1)


@contextmanager
def _interrupted_after():
    """Ctrl-C waits for the end of the block: a kernel that just starts or ends must not get out of sight."""
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def running_kernel(notebook, folder, environment, client=None, **options):
    """A kernel of this Python for a notebook's cells; it and what it started end with the block.

    The kernel's environment is `environment` with one thread and UTF-8, an absolute GENCAP_DATA, and without what
    belongs to the user's own sessions: MPLBACKEND, PYTHONSTARTUP, the IPython profile with its start-up files.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
    folder : path
        Where the cells run.
    environment : mapping
    client : class, optional
        By default nbclient's NotebookClient.
    **options
        For the client.

    Yields
    ------
    nbclient.NotebookClient
        With it the block executes cells. What is raised in the block has, as `last_words`, the last lines that the
        kernel wrote, and of a dead one its exit status.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError

    environment = {k: v for k, v in environment.items() if k not in ("MPLBACKEND", "PYTHONSTARTUP")} | ONE_THREAD | UTF8
    if environment.get("GENCAP_DATA"):
        environment["GENCAP_DATA"] = os.path.abspath(environment["GENCAP_DATA"])
    # What the client would say is raised; the kernel would warn of its port at every start.
    options["extra_arguments"] = ["--IPKernelApp.log_level=40", *options.get("extra_arguments", ())]
    options = {"iopub_timeout": 60, "raise_on_iopub_timeout": True, "log": QUIET} | options
    client = (client or NotebookClient)(notebook, kernel_name="python3", **options)
    # A kernel "python3" that the user once installed may belong to another Python than this one.
    client.create_kernel_manager().kernel_spec_manager = KernelSpecManager(kernel_dirs=[])
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as environment["IPYTHONDIR"],
        open(Path(environment["IPYTHONDIR"]) / "said", "w+b") as said,
    ):
        try:
            with _interrupted_after():  # no output on a pipe of ours: whoever reads that would wait for the kernel
                client.start_new_kernel(env=environment, cwd=str(folder), stdout=said, stderr=said)
            client.start_new_kernel_client()
            info = client.wait_for_reply(client.kc.kernel_info())
            notebook.metadata.language_info = info["content"]["language_info"]
            yield client
        except Exception as error:
            said.seek(0)
            error.last_words = said.read().decode("utf-8", "replace").splitlines()[-30:]
            if isinstance(error, DeadKernelError) and (process := getattr(client.km.provisioner, "process", None)):
                error.last_words.append(f"exit status of the kernel: {process.returncode}")
            raise
        finally:
            client.set_widgets_metadata()
            if client.km:
                with _interrupted_after():
                    client._cleanup_kernel()


def execute(notebook, folder, environment, progress=None):
    """Execute a notebook's cells in a `running_kernel` and put the outputs into it.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
    folder : path
        Where the cells run.
    environment : mapping
    progress : callable, optional
        Called with (cells done, cells in all).

    Raises
    ------
    nbclient.exceptions.CellExecutionError, nbclient.exceptions.DeadKernelError, ...
        With `record`: name, message and traceback (of a dead kernel its last words), and the number of the code cell,
        as if nothing had been injected, or None. The notebook holds the outputs up to there.
    """
    from nbclient.exceptions import CellExecutionError
    from nbformat.v4 import new_output

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    number, cell = 0, None
    try:
        with running_kernel(notebook, folder, environment) as client:
            for index, cell in enumerate(notebook.cells):
                own = cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
                number += bool(own and cell.source.strip())
                client.execute_cell(cell, index)
                if progress:
                    progress(index + 1, len(notebook.cells))
    except Exception as error:
        lines = getattr(error, "last_words", [])
        if cell and not isinstance(error, CellExecutionError):
            cell.outputs.append(new_output("error", ename=type(error).__name__, evalue=str(error), traceback=lines))
        shown = [o.traceback for o in (cell or {}).get("outputs", []) if o.output_type == "error"] or [lines]
        error.record = {
            "cell": number if cell else None,
            "name": getattr(error, "ename", type(error).__name__),
            "message": getattr(error, "evalue", str(error)),
            "traceback": re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(shown[-1])),
        }
        raise
