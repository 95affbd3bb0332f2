"""The stock service: pages of items, and the reports that it received."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

SIZE = int(os.environ["PAGE_SIZE"])
ITEMS = [{"item": f"shelf-{number}", "units": 7 * number + 3} for number in range(1, 11)]
REPORTS = []


class Stock(BaseHTTPRequestHandler):
    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/reports":
            return self.answer(REPORTS)
        page = int(parse_qs(url.query).get("page", ["1"])[0])
        end = page * SIZE
        self.answer({"items": ITEMS[end - SIZE : end], "next": page + 1 if end < len(ITEMS) else None})

    def do_POST(self):
        REPORTS.append(int(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer({"received": REPORTS[-1]})


ThreadingHTTPServer(("", 8000), Stock).serve_forever()
