"""Every jitted loop of the library: arrays in, arrays out, no Python objects, one thread each.

numba keeps machine code by the file of the function it belongs to. What a kernel inlines or takes its flags from
therefore stands in the same file, even if it stands in two: after a change elsewhere the old code would go on running.
"""
