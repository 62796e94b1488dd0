"""A race that runs no thread, and a clock that stands still until it is moved."""


class FakeRace:
    def __init__(self, size=0):
        self.phase, self.activity, self.ended, self.calls = "waiting", "fitting", False, []
        self.runs = ()
        self.size = size

    def start(self):
        self.calls.append("start")
        self.phase = "running"

    def resume(self):
        self.calls.append("resume")
        self.phase = "running"

    def pause(self):
        self.calls.append("pause")
        self.phase = "paused"

    def step(self, count=1):
        self.calls.append(f"step {count}")
        self.phase = "paused"

    def stop(self):
        self.calls.append("stop")
        self.phase, self.ended = "ended", True


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now
