"""Every jitted loop of the library: arrays in, arrays out, no Python objects, one thread each."""

# Plain fastmath lets the compiler drop NaN and inf checks; these flags are as fast and keep them.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
