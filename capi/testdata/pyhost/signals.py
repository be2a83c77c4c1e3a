"""Python's signals after the library was loaded: signals.py LIBRARY CARRIER

CARRIER is a module that contains others, of a kind without a loader: Go reads it.
"""

import faulthandler
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import abi

library, carrier = sys.argv[1:]
caught = []
NAMES = ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGTERM", "SIGALRM", "SIGPROF", "SIGCHLD", "SIGURG")
for name in NAMES[::2]:  # half of the handlers are set before the library is loaded
    signal.signal(getattr(signal, name), lambda number, _: caught.append(number))
lib = abi.Library(library)


def enter_go():
    abi.fails(abi.FFIError, "nothing here can run", lib.get_global("ffi.ModuleGetFunction"), lib.load(carrier),
              "vadd_kernel", True)


def send(number):
    """Sends a signal to this process. Python runs its handler between two steps of the main thread."""
    before = len(caught)
    os.kill(os.getpid(), number)
    while len(caught) == before:
        time.sleep(0)


def handlers():
    for name in NAMES:
        number = getattr(signal, name)
        del caught[:]
        send(number)
        assert caught[0] == number, f"{name}: {caught}"


def interrupt():
    """Ctrl-C still raises KeyboardInterrupt."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            time.sleep(0)
    except KeyboardInterrupt:
        return


def broken_pipe():
    """Python ignores SIGPIPE and raises an error."""
    r, w = os.pipe()
    os.close(r)
    try:
        os.write(w, b"x")
        raise AssertionError("no BrokenPipeError")
    except BrokenPipeError:
        os.close(w)


def timer():
    """An interval timer of the program fires."""
    del caught[:]
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while signal.SIGALRM not in caught:
        time.sleep(0)


def children():
    assert subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, check=True).stdout == b"42\n"


def traceback_on_request():
    """faulthandler writes Python's stack; its handler is C code."""
    with tempfile.TemporaryFile() as f:
        faulthandler.register(signal.SIGUSR2, file=f, all_threads=True)
        os.kill(os.getpid(), signal.SIGUSR2)
        while f.seek(0, os.SEEK_END) == 0:
            time.sleep(0)
        faulthandler.unregister(signal.SIGUSR2)
        f.seek(0)
        assert b"traceback_on_request" in f.read()


def all_parts():
    for part in (handlers, interrupt, broken_pipe, timer, children, traceback_on_request):
        part()


enter_go()
for name in NAMES[1::2]:
    signal.signal(getattr(signal, name), lambda number, _: caught.append(number))
all_parts()
thread = threading.Thread(target=enter_go)
thread.start()
thread.join()
all_parts()

# faulthandler reports a crash of the program, and the signal still ends the process.
child = os.fork()
if child == 0:
    import ctypes

    with tempfile.TemporaryFile() as f:
        os.dup2(f.fileno(), 2)
        faulthandler.enable(file=2)
        grandchild = os.fork()
        if grandchild == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            ctypes.string_at(8)
        _, status = os.waitpid(grandchild, 0)
        f.seek(0)
        text = f.read()
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV and b"Segmentation fault" in text):
        print(status, text.decode(), flush=True)
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("ok")
