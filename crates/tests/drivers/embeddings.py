"""The embeddings of a real model behind OpenAI's address for them; its own address is the first line of output.

The model is WordLlama's, whose weights come with its package.
"""

import json
import pathlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import wordllama

NAME = "l2_supercat_256"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        known = self.path == "/v1/models"
        self.answer(200 if known else 404, {"data": [{"id": NAME}]} if known else {})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/embeddings" or asked["model"] != NAME:
            self.answer(404, {})
            return
        vectors = MODEL.embed(asked["input"], norm=True).tolist()
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        words = sum(len(text.split()) for text in asked["input"])
        self.answer(200, {"data": data, "model": NAME, "usage": {"prompt_tokens": words}})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


MODEL = wordllama.WordLlama.load(
    cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True
)
SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{SERVER.server_address[1]}/v1", flush=True)
SERVER.serve_forever()
