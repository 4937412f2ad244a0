"""llama.cpp's own server with one model, on a free port of loopback.

It says one line, READY and its address, and ends with its standard input.
"""

import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
parameters.n_parallel = 2
parameters.n_ctx = 2 * 8192
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
parameters.warmup = False
parameters.ui = False
parameters.use_jinja = True

server = xllamacpp.Server(parameters)
print("READY", server.listening_address, flush=True)
sys.stdin.read()
