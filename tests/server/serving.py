# SPDX-License-Identifier: MIT
# A `lull serve` or `lull view` to talk to, and its ends.
import atexit
import http.client
import json
import os
import subprocess
import time
import urllib.parse


class Server:
    """Is there when all of the traces is indexed, unless `waits` is false."""

    def __init__(self, lull, env, *arguments, verb="serve", waits=True):
        self.process = subprocess.Popen([lull, verb, "--json", "--allow-root", "--port", "0", *arguments], env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.communicate()[1])
        self.said = json.loads(line)
        url = urllib.parse.urlsplit(self.said["tsp" if verb == "serve" else "view"])
        self.port, self.base = url.port, url.path
        experiments = self.base + ("/experiments" if verb == "serve" else "tsp/api/experiments")
        while waits and json.loads(self.raw("GET", experiments)[2])[0]["indexingStatus"] != "COMPLETED":
            time.sleep(0.02)

    def raw(self, method, path, body=None, headers=None):
        """(status, headers, bytes) of one request; the Host header is what it should be unless it is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for key, value in headers.items():
            connection.putheader(key, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        try:
            if body is not None:
                connection.send(body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, method, path, params=None):
        """(status, object) of the protocol."""
        body = None if params is None else json.dumps({"parameters": params}).encode()
        status, headers, data = self.raw(method, f"{self.base}/{path}", body)
        assert headers["Content-Type"] == "application/json", headers["Content-Type"]
        return status, json.loads(data)

    def model(self, path, params):
        status, answer = self.ask("POST", path, params)
        assert status == 200, (status, answer)
        assert set(answer) == {"model", "status", "statusMessage"} and answer["status"] == "COMPLETED", answer
        return answer["model"]

    def end(self):
        self.process.terminate()
        output = self.process.communicate(timeout=30)
        return self.process.returncode, *output


def environment(cache):
    return {**os.environ, "XDG_CACHE_HOME": cache, "XDG_STATE_HOME": os.path.join(cache, "no-state"), "LC_ALL": "C.UTF-8"}
