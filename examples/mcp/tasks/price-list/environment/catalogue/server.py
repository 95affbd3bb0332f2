"""An MCP server with one tool, over streamable HTTP without sessions or streams."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ARTICLES = {"lantern": "lantern: 18.50 EUR", "rope": "rope: 7.20 EUR"}
TOOL = {
    "name": "find_article",
    "description": "Finds an article of the catalogue by its name, with its price.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "annotations": {"readOnlyHint": True},
}


def result_of(method, params):
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "catalogue", "version": "1"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = ARTICLES.get(params["arguments"]["name"], "no such article")
            return {"content": [{"type": "text", "text": text}]}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, document=None):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            return self.answer(202)
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        result = result_of(message["method"], message.get("params", {}))
        if result is None:
            answer["error"] = {"code": -32601, "message": "method not found"}
        else:
            answer["result"] = result
        self.answer(200, answer)


ThreadingHTTPServer(("", 8000), Server).serve_forever()
