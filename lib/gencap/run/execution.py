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


def execute(notebook, folder, environment, progress=None):
    """Execute a notebook's cells in a kernel of this Python and put the outputs into it.

    The kernel's environment is `environment` with one thread and UTF-8, an absolute GENCAP_DATA, and without what
    belongs to the user's own sessions: MPLBACKEND, PYTHONSTARTUP, the IPython profile with its start-up files.

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
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    from nbformat.v4 import new_output

    environment = {k: v for k, v in environment.items() if k not in ("MPLBACKEND", "PYTHONSTARTUP")} | ONE_THREAD | UTF8
    if environment.get("GENCAP_DATA"):
        environment["GENCAP_DATA"] = os.path.abspath(environment["GENCAP_DATA"])
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    # What the client would say is raised; the kernel would warn of its port at every start.
    quiet = {"log": logging.Logger("", logging.CRITICAL + 1), "extra_arguments": ["--IPKernelApp.log_level=40"]}
    client = NotebookClient(notebook, kernel_name="python3", iopub_timeout=60, raise_on_iopub_timeout=True, **quiet)
    # A kernel "python3" that the user once installed may belong to another Python than this one.
    client.create_kernel_manager().kernel_spec_manager = KernelSpecManager(kernel_dirs=[])
    number, cell = 0, None
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
            for index, cell in enumerate(notebook.cells):
                own = cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
                number += bool(own and cell.source.strip())
                client.execute_cell(cell, index)
                if progress:
                    progress(index + 1, len(notebook.cells))
        except Exception as error:
            said.seek(0)
            lines = said.read().decode("utf-8", "replace").splitlines()[-30:]
            if isinstance(error, DeadKernelError) and (process := getattr(client.km.provisioner, "process", None)):
                lines.append(f"exit status of the kernel: {process.returncode}")
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
        finally:
            client.set_widgets_metadata()
            if client.km:
                with _interrupted_after():
                    client._cleanup_kernel()
