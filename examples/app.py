#!/usr/bin/env python3
"""The app behind the examples: shows every request as the proxy handed it over, as JSON.

    examples/app.py [PORT]        127.0.0.1, port 8000 unless given
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive, as proxies expect of an upstream

    def answer(self):
        shown = {
            "app": True,
            "method": self.command,
            "target": self.path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "body_bytes": self.body_bytes(),
        }
        body = json.dumps(shown, indent=2).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def body_bytes(self):
        """Reads the body to its end and counts it: what stays unread would be taken for the next request."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        total = 0
        while size := int(self.rfile.readline().split(b";")[0], 16):
            total += len(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return total

    def log_message(self, *_):
        pass  # the proxy's log tells it better


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Echo).serve_forever()
