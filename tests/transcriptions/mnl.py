"""UCRL-MNL with the whole history kept, and its likelihood maximised by SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


class UCRLMNL:
    """Features φ[s, a, s', :] and reachable[s, a] → states. Fault: V is built from the Q of the episode before."""

    def __init__(self, rewards, features, reachable, ridge=1.0, multiplier=1.0, fault=False):
        self.r, self.phi, self.reach = rewards, features, reachable
        self.H, self.S, self.A = rewards.shape
        self.d, self.lam, self.c, self.fault = features.shape[-1], ridge, multiplier, fault
        self.U = max(len(states) for states in reachable.values())
        self.history, self.k, self.Q = [], 0, None

    def chances(self, theta, s, a):
        logits = np.array([self.phi[s, a, y] @ theta for y in self.reach[s, a]])
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def fit(self):
        def loss(theta):
            value, slope = self.lam / 2 * theta @ theta, self.lam * theta
            for s, a, y in self.history:
                p, states = self.chances(theta, s, a), self.reach[s, a]
                value -= np.log(p[states.index(y)])
                slope = slope - self.phi[s, a, y] + sum(p[i] * self.phi[s, a, z] for i, z in enumerate(states))
            return value, slope

        found = minimize(loss, np.zeros(self.d), jac=True, method="BFGS", options={"gtol": 1e-9})
        return found.x

    def plan(self):
        self.k += 1
        theta = self.fit()
        gram = self.lam * np.eye(self.d)
        for s, a, _ in self.history:
            for y in self.reach[s, a]:
                gram += np.outer(self.phi[s, a, y], self.phi[s, a, y])
        inverse = np.linalg.inv(gram)
        beta = self.c * np.sqrt(self.d * np.log(1 + self.k * self.H * self.U / (self.d * self.lam)))
        Q, V = np.zeros((self.H, self.S, self.A)), np.zeros((self.H + 1, self.S))
        for h in reversed(range(self.H)):
            for s in range(self.S):
                for a in range(self.A):
                    states = self.reach[s, a]
                    width = max(np.sqrt(self.phi[s, a, y] @ inverse @ self.phi[s, a, y]) for y in states)
                    mean = self.chances(theta, s, a) @ V[h + 1, states]
                    Q[h, s, a] = min(self.r[h, s, a] + mean + 2 * self.H * beta * width, self.H)
                stale = self.fault and self.Q is not None
                V[h, s] = (self.Q if stale else Q)[h, s].max()
        self.Q = Q
        return Q, V

    def observe(self, h, s, a, reward, next_state, V):
        self.history.append((s, a, next_state))

    def finish(self):
        pass
