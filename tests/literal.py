"""Algorithms 1 and 2 of the paper, line by line in NumPy: the judge of the compiled agent, and a yardstick.

Nothing here is shared with the library: dense features φ[s, a, s', :], Gram matrices that are added up and inverted
afresh, Python loops over everything. The random numbers come from outside, so that both can be fed the same.
Numbers behind a comment "l. 5" are lines of the paper's algorithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Randomness(NamedTuple):
    """The random numbers of one episode."""

    start: float  # uniform: which state to start in
    transition: np.ndarray  # (horizon,) uniform: which successor
    ties: np.ndarray  # (horizon, states, actions) uniform: whether a tied action replaces those before it


class Episode(NamedTuple):
    values: np.ndarray  # V_{k,h}(s), (horizon + 1, states)
    policy: np.ndarray  # (horizon, states)
    states: list[int]
    actions: list[int]
    weights: np.ndarray  # σ̄²_{k,h,m}, (horizon, M + 1)


class LiteralUCRLWVTR:
    """UCRL-WVTR on a linear mixture with dense features φ[s, a, s', d]."""

    def __init__(self, features, rewards, levels, ridge, sigma_min, gamma, beta, error_weights=(2.0, 1.0)):
        self.features, self.rewards = features, rewards
        self.M, self.ridge, self.sigma_min, self.gamma = levels, ridge, sigma_min, gamma
        self.beta, self.error_weights = beta, error_weights
        dim = features.shape[-1]
        self.k = 0
        # l. 1: f̂_{1,m} = 0 and empty data at every level. D_{k,h,m} is kept as its Gram matrix and vector.
        self.theta = [np.zeros(dim) for _ in range(levels + 1)]
        self.gram = [ridge * np.eye(dim) for _ in range(levels + 1)]
        self.vector = [np.zeros(dim) for _ in range(levels + 1)]

    def phi(self, s, a, V):
        total = np.zeros(self.features.shape[-1])
        for next_state in range(len(V)):
            total += self.features[s, a, next_state] * V[next_state]
        return total

    def uncertainty(self, phi, inverse):
        return np.sqrt(phi @ inverse @ phi)

    def episode(self, horizon, kernel, start, random: Randomness) -> Episode:
        n_states, n_actions = self.features.shape[:2]
        self.k += 1
        beta = self.beta(self.k) if callable(self.beta) else self.beta
        frozen = [np.linalg.inv(gram) for gram in self.gram]  # D_{k,m}
        V = np.zeros((horizon + 1, n_states))  # l. 3
        policy = np.zeros((horizon, n_states), dtype=int)
        for h in reversed(range(horizon)):  # l. 4
            for s in range(n_states):
                q = np.zeros(n_actions)
                for a in range(n_actions):  # l. 5, clipped from below too (errata 9)
                    phi = self.phi(s, a, V[h + 1])
                    bonus = beta * self.uncertainty(phi, frozen[0])
                    q[a] = min(max(self.rewards[h, s, a] + phi @ self.theta[0] + bonus, 0.0), 1.0)
                V[h, s] = q.max()  # l. 6
                policy[h, s] = self._argmax(q, random.ties[h, s])
        s = self._draw(start, random.start)  # l. 8
        states, actions, all_weights = [s], [], []
        for h in range(horizon):  # l. 9
            a = policy[h, s]  # l. 10
            next_state = self._draw(kernel[s, a], random.transition[h])
            phi = [self.phi(s, a, V[h + 1] ** (2**m)) for m in range(self.M + 1)]  # l. 11
            y = [V[h + 1, next_state] ** (2**m) for m in range(self.M + 1)]
            weights = self._home(phi, frozen, beta)  # l. 12
            for m in range(self.M + 1):  # l. 13
                self.gram[m] = self.gram[m] + np.outer(phi[m], phi[m]) / weights[m]
                self.vector[m] = self.vector[m] + phi[m] * y[m] / weights[m]
            s = next_state
            states.append(s)
            actions.append(a)
            all_weights.append(weights)
        for m in range(self.M + 1):  # l. 16, with the weight of the same level (errata 5)
            self.theta[m] = np.linalg.solve(self.gram[m], self.vector[m])
        return Episode(V, policy, states, actions, np.array(all_weights))

    def _home(self, phi, frozen, beta):
        """Algorithm 2: σ̄²_{k,h,m} for every m."""
        f = [min(max(phi[m] @ self.theta[m], 0.0), 1.0) for m in range(self.M + 1)]  # errata 9
        D = [self.uncertainty(phi[m], frozen[m]) for m in range(self.M + 1)]
        so_far = [self.uncertainty(phi[m], np.linalg.inv(self.gram[m])) for m in range(self.M + 1)]
        own, above = self.error_weights
        weights = []
        for m in range(self.M):  # l. 1
            variance = f[m + 1] - f[m] ** 2  # l. 2
            error = min(1.0, own * beta * D[m]) + min(1.0, above * beta * D[m + 1])  # l. 3 (errata 4)
            weights.append(max(variance + error, self.sigma_min**2, self.gamma**2 * so_far[m]))  # l. 4 (errata 6)
        weights.append(max(1.0, self.sigma_min**2, self.gamma**2 * so_far[self.M]))  # l. 6
        return weights

    @staticmethod
    def _argmax(q, uniform):
        """Ties at random (errata 11): the c-th of c tied actions replaces the choice with chance 1/c."""
        choice, tied = 0, 1
        for a in range(1, len(q)):
            if q[a] > q[choice]:
                choice, tied = a, 1
            elif q[a] == q[choice]:
                tied += 1
                if int(uniform[a] * tied) == tied - 1:
                    choice = a
        return choice

    @staticmethod
    def _draw(chances, uniform):
        total = 0.0
        for outcome in np.flatnonzero(chances):
            total += chances[outcome]
            if uniform < total:
                return int(outcome)
        return int(np.flatnonzero(chances)[-1])
