# SPDX-License-Identifier: MIT
# A headless Chromium that a test drives: its DevTools protocol through a pipe, with nothing but Python's library.
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
KEYS = {"Tab": 9, "Enter": 13, "Backspace": 8, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}

# A test that reads what has not come yet passes on a fast machine: with LULL_TEST_SLOW=300 each answer comes 300 ms later, and
# the page has a quarter of the processor.
SLOW = float(os.environ.get("LULL_TEST_SLOW", 0))


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, width=1280, height=800):
        self.profile = tempfile.mkdtemp(prefix="lull-browser-")
        to_read, self.write_fd = os.pipe()
        self.read_fd, to_write = os.pipe()

        def pipes():
            # The browser reads from 3 and writes to 4.
            os.dup2(to_read, 103)
            os.dup2(to_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", f"--window-size={width},{height}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pipes, close_fds=False,
            start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.problems = b"", 0, None, []

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.read_fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.read_fd, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=True, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session and self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            elif answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.problems.append(f"{answer['params']['entry']['text']} {answer['params']['entry'].get('url', '')}")

    def open(self, url):
        """A new page; what it throws and what its policy forbids is in `problems`."""
        target = self.call("Target.createTarget", session=False, url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", session=False, targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        if SLOW:
            self.call("Network.enable")
            self.call("Network.emulateNetworkConditions", offline=False, latency=SLOW, downloadThroughput=-1, uploadThroughput=-1)
            self.call("Emulation.setCPUThrottlingRate", rate=4)
        self.call("Page.navigate", url=url)
        return target

    def close_page(self, target):
        """As a person closes it: the page may still say goodbye."""
        self.call("Page.close")
        self.session = None

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "the script failed"))
        return result["result"].get("value")

    def wait(self, script, seconds=30):
        """Until the script gives something; what it gave last."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.run(script)
            if value or time.monotonic() > deadline:
                return value
            time.sleep(0.03)

    def key(self, key, modifiers=0):
        """Modifiers: 1 Alt, 2 Ctrl, 8 Shift."""
        code = KEYS.get(key, ord(key[0].upper()))
        text = None if modifiers & 3 else {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        common = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        shutil.rmtree(self.profile, ignore_errors=True)
