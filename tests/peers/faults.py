"""Faults between a client and a server, by a script: an addon of mitmproxy.

FAULTS names what is done to each request in turn, separated by commas; all further ones pass. Names:
pass, STATUS (an answer of our own in Anthropic's envelope), STATUS=SECONDS (with Retry-After), html, reset,
hang=SECONDS (then reset); and of the server's own answer: garbage, empty, cut=BYTES.
FILL, if set, is the body of every successful answer; and requests then say that they accept JSON, without which
moto fails where AWS does not. GET /faults tells what was done so far.
"""
import asyncio
import os

from mitmproxy import http

KINDS = {401: "authentication_error", 402: "billing_error", 429: "rate_limit_error", 529: "overloaded_error"}


class Faults:
    def __init__(self):
        self.script = [fault for fault in os.environ.get("FAULTS", "").split(",") if fault]
        self.fill = os.environ.get("FILL")
        self.log = []

    async def request(self, flow: http.HTTPFlow):
        if flow.request.path == "/faults":
            flow.response = http.Response.make(200, "\n".join(self.log))
            flow.metadata["own"] = True
            return
        fault = self.script.pop(0) if self.script else "pass"
        self.log.append(fault)
        if self.fill:
            flow.request.headers["accept"] = "application/json"
        name, _, value = fault.partition("=")
        flow.metadata["fault"] = (name, value)
        if name.isdigit():
            status = int(name)
            headers = {"content-type": "application/json"}
            if value:
                headers["retry-after"] = value
            kind = KINDS.get(status, "api_error")
            body = '{"type":"error","error":{"type":"%s","message":"by the script"}}' % kind
            flow.response = http.Response.make(status, body, headers)
        elif name == "html":
            page = "<html><body><h1>Bad Gateway</h1></body></html>"
            flow.response = http.Response.make(502, page, {"content-type": "text/html"})
        elif name == "reset":
            flow.kill()
        elif name == "hang":
            await asyncio.sleep(float(value))
            flow.kill()

    async def response(self, flow: http.HTTPFlow):
        if flow.metadata.get("own"):
            return
        name, value = flow.metadata.get("fault", ("pass", ""))
        if name == "garbage":
            flow.response.content = b'{"content": [{"type": "te'
        elif name == "empty":
            flow.response.content = b""
        elif name == "cut":
            # Fewer bytes than were announced.
            whole = flow.response.raw_content
            flow.response.raw_content = whole[: int(value)]
            flow.response.headers.pop("transfer-encoding", None)
            flow.response.headers["content-length"] = str(len(whole))
        elif self.fill and flow.response.status_code == 200:
            flow.response.content = self.fill.encode()


addons = [Faults()]
