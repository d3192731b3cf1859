"""HF-UCRL-VTR+, UCRL-VTR (Ayoub et al.) and UCRL-VTR+ on dense features φ[s, a, s', :], Gram matrices inverted anew."""

from __future__ import annotations

import numpy as np


class Mixture:
    def __init__(self, rewards, features, bound=1.0, multiplier=1.0, episodes=1000, delta=0.1, fault=False):
        self.r, self.phi, self.B = rewards, features, bound
        self.H, self.S, self.A = rewards.shape
        self.d = features.shape[-1]
        self.c, self.K, self.delta, self.fault = multiplier, episodes, delta, fault
        self.k = 0

    def feature(self, s, a, V):
        return sum(self.phi[s, a, y] * V[y] for y in range(self.S))

    def plan(self):
        self.k += 1
        self.freeze()
        Q, V = np.zeros((self.H, self.S, self.A)), np.zeros((self.H + 1, self.S))
        for h in reversed(range(self.H)):
            for s in range(self.S):
                for a in range(self.A):
                    Q[h, s, a] = self.q(h, s, a, self.feature(s, a, V[h + 1]))
                V[h, s] = Q[h, s].max()
        return Q, V

    def finish(self):
        pass


def norm(x, gram):
    return np.sqrt(x @ np.linalg.inv(gram) @ x)


class HFUCRLVTRPlus(Mixture):
    """Fault: the 2 of the error bound is on the level above (errata 4)."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        steps = self.K * self.H
        self.M = int(np.ceil(np.log2(7 * steps)))
        self.lam, self.gamma, self.xi = self.d / self.B**2, self.d**-0.25, np.sqrt(self.d / steps)
        self.gram = [self.lam * np.eye(self.d) for _ in range(self.M)]
        self.vector = [np.zeros(self.d) for _ in range(self.M)]

    def freeze(self):
        self.frozen = [g.copy() for g in self.gram]
        self.theta = [np.linalg.solve(g, v) for g, v in zip(self.gram, self.vector, strict=True)]
        k, H, d, g = self.k, self.H, self.d, self.gamma
        eta = np.log(1 + k * H / (self.xi**2 * d * self.lam))
        tau = np.log(32 * (max(np.log(g**2 / self.xi), 0) + 1) * k**2 * H**2 / self.delta)
        self.beta = self.c * (12 * np.sqrt(d * eta * tau) + 30 * tau / g**2 + np.sqrt(self.lam) * self.B)

    def q(self, h, s, a, x):
        return np.clip(self.r[h, s, a] + self.theta[0] @ x + self.beta * norm(x, self.frozen[0]), 0, 1)

    def observe(self, h, s, a, reward, next_state, V):
        xs = [self.feature(s, a, V[h + 1] ** (2**m)) for m in range(self.M)]
        means = [np.clip(self.theta[m] @ xs[m], 0, 1) for m in range(self.M)]
        radii = [self.beta * norm(xs[m], self.frozen[m]) for m in range(self.M)]
        for m in range(self.M):
            own, above = (1, 2) if self.fault else (2, 1)
            moment = 1.0
            if m < self.M - 1:
                error = min(1, own * radii[m]) + min(1, above * radii[m + 1])
                moment = means[m + 1] - means[m] ** 2 + error
            weight = max(moment, self.xi**2, self.gamma**2 * norm(xs[m], self.gram[m]))
            self.gram[m] = self.gram[m] + np.outer(xs[m], xs[m]) / weight
            self.vector[m] = self.vector[m] + xs[m] * V[h + 1, next_state] ** (2**m) / weight


class UCRLVTRAyoub(Mixture):
    """Fault: the radius of step h has H − h instead of H − h + 1."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.gram, self.vector = np.eye(self.d), np.zeros(self.d)

    def freeze(self):
        self.frozen, self.theta = self.gram.copy(), np.linalg.solve(self.gram, self.vector)
        self.log_det = np.linalg.slogdet(self.gram)[1]

    def q(self, h, s, a, x):
        left = self.H - h  # H − h + 1 with h from 1
        scale = left - 1 if self.fault else left
        radius = self.B + scale / 2 * np.sqrt(2 * np.log(self.K) + self.log_det)
        return np.clip(self.r[h, s, a] + self.theta @ x + self.c * radius * norm(x, self.frozen), 0, left)

    def observe(self, h, s, a, reward, next_state, V):
        x = self.feature(s, a, V[h + 1])
        self.gram = self.gram + np.outer(x, x)
        self.vector = self.vector + x * V[h + 1, next_state]


class UCRLVTRPlus(Mixture):
    """Fault: the second moment is not weighted apart but shares the weight of the first."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.gram = [np.eye(self.d) / self.B**2 for _ in range(2)]
        self.vector = [np.zeros(self.d) for _ in range(2)]
        d, H = self.d, self.H
        log, eta = np.log(48 * self.K**2 * H**2 / self.delta), np.log(1 + self.K * H * self.B**2)
        self.hat = self.c * (8 * np.sqrt(d * eta * log) + 4 * np.sqrt(d) * log + 1)
        self.check = self.c * (8 * d * np.sqrt(eta * log) + 4 * np.sqrt(d) * log + 1)
        self.tilde = self.c * (8 * H**2 * np.sqrt(d * eta * log) + 4 * H**2 * log + 1)

    def freeze(self):
        self.frozen = [g.copy() for g in self.gram]
        self.theta = [np.linalg.solve(g, v) for g, v in zip(self.gram, self.vector, strict=True)]

    def q(self, h, s, a, x):
        return np.clip(self.r[h, s, a] + self.theta[0] @ x + self.hat * norm(x, self.frozen[0]), 0, self.H)

    def observe(self, h, s, a, reward, next_state, V):
        H = self.H
        x, x2 = self.feature(s, a, V[h + 1]), self.feature(s, a, V[h + 1] ** 2)
        error = min(H**2, self.tilde * norm(x2, self.frozen[1]))
        error += min(H**2, 2 * H * self.check * norm(x, self.frozen[0]))
        variance = np.clip(self.theta[1] @ x2, 0, H**2) - np.clip(self.theta[0] @ x, 0, H) ** 2
        weight = max(H**2 / self.d, variance + error)
        for m, (point, w) in enumerate([(x, weight), (x2, weight if self.fault else 1.0)]):
            self.gram[m] = self.gram[m] + np.outer(point, point) / w
            self.vector[m] = self.vector[m] + point * V[h + 1, next_state] ** (m + 1) / w
