"""UCBVI, EULER, MVP, UCRL2 and greedy on the estimate, from counts kept as plain arrays."""

from __future__ import annotations

import numpy as np


class Tabular:
    def __init__(self, rewards, multiplier=1.0, episodes=1000, delta=0.1, fault=False):
        self.r = rewards  # [H, S, A]
        self.H, self.S, self.A = rewards.shape
        self.c, self.T, self.K, self.delta, self.fault = multiplier, episodes * self.H, episodes, delta, fault
        self.n = np.zeros((self.S, self.A))
        self.n_next = np.zeros((self.S, self.A, self.S))
        self.n_step = np.zeros((self.H + 1, self.S))
        self.steps = 0

    def observe(self, h, s, a, reward, next_state, V):
        self.n[s, a] += 1
        self.n_next[s, a, next_state] += 1
        self.n_step[h, s] += 1
        self.steps += 1

    def finish(self):
        pass

    def p(self, s, a):
        return self.n_next[s, a] / self.n[s, a]

    @staticmethod
    def var(p, V):
        return sum(p[y] * (V[y] - p @ V) ** 2 for y in range(len(V)))

    def plan(self):
        Q, V = np.zeros((self.H, self.S, self.A)), np.zeros((self.H + 1, self.S))
        for h in reversed(range(self.H)):
            for s in range(self.S):
                for a in range(self.A):
                    Q[h, s, a] = self.q(h, s, a, V[h + 1])
                V[h, s] = Q[h, s].max()
        self.Q = Q
        return Q, V


class UCBVI(Tabular):
    """Fault: the previous Q starts below H."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.Q = np.full((self.H, self.S, self.A), 0.6 * self.H if self.fault else self.H)
        self.L = np.log(5 * self.S * self.A * self.T / self.delta)

    def q(self, h, s, a, V):
        if self.n[s, a] == 0:
            return self.Q[h, s, a]
        return min(self.Q[h, s, a], self.H, self.r[h, s, a] + self.p(s, a) @ V + self.c * self.bonus(h, s, a, V))


class UCBVICH(UCBVI):
    def bonus(self, h, s, a, V):
        return 7 * self.H * self.L / np.sqrt(self.n[s, a])


class UCBVIBF(UCBVI):
    def bonus(self, h, s, a, V):
        n, H, L, p = self.n[s, a], self.H, self.L, self.p(s, a)
        later = 0.0
        for y in range(self.S):
            n_y = self.n_step[h + 1, y]
            crude = 100**2 * H**3 * self.S**2 * self.A * L**2 / n_y if n_y > 0 else np.inf
            later += p[y] * min(crude, H**2)
        return np.sqrt(8 * L * self.var(p, V) / n) + 14 * H * L / (3 * n) + np.sqrt(8 * later / n)


class UCBVISimplified(Tabular):
    """The rule of rlberry-scool's UCBVIAgent on fresh bonuses. Fault: the bonus is not cut off at H − h."""

    def q(self, h, s, a, V):
        n, left = self.n[s, a], self.H - h
        if n == 0:
            return left
        bonus = self.c * np.sqrt(1 / n) + left / n
        if not self.fault:
            bonus = min(bonus, left)
        return min(self.r[h, s, a] + self.p(s, a) @ V + bonus, self.H)


class EULER(Tabular):
    """Fault: the lower value is cut off with min instead of max."""

    def plan(self):
        self.lower = np.zeros((self.H + 1, self.S))
        Q, V = np.zeros((self.H, self.S, self.A)), np.zeros((self.H + 1, self.S))
        for h in reversed(range(self.H)):
            low = np.zeros((self.S, self.A))
            for s in range(self.S):
                for a in range(self.A):
                    Q[h, s, a], low[s, a] = self.both(h, s, a, V[h + 1], self.lower[h + 1])
                V[h, s] = Q[h, s].max()
                # The lower value follows the action chosen; Q values do not tie in these tests where it matters.
                self.lower[h, s] = low[s, self.chosen[h, s]]
        return Q, V

    def both(self, h, s, a, up, lo):
        n, H, left = self.n[s, a], self.H, self.H - h
        if n == 0:
            return left, 0.0
        log = np.log(4 * self.S * self.A * self.T / (self.delta / 7))
        p = self.p(s, a)
        J, B_v = H * log / 3, np.sqrt(2 * log)
        B_p = H * B_v
        gap = np.sqrt(p @ (up - lo) ** 2)

        def b(V):
            phi = np.sqrt(2 * self.var(p, V) * log / n) + H * log / (3 * max(n - 1, 1))
            return self.c * (phi + ((4 * J + B_p) / np.sqrt(n) + B_v * gap) / np.sqrt(n))

        cut = min if self.fault else max
        r = self.r[h, s, a]
        return min(r + p @ up + b(up), left), cut(r + p @ lo - b(lo), 0.0)


class MVP(Tabular):
    """Fault: estimates are refreshed at every visit."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.kept_n, self.kept_next = self.n.copy(), self.n_next.copy()

    def observe(self, h, s, a, reward, next_state, V):
        super().observe(h, s, a, reward, next_state, V)
        if self.fault or self.n[s, a] in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
            self.kept_n[s, a], self.kept_next[s, a] = self.n[s, a], self.n_next[s, a]

    def q(self, h, s, a, V):
        n = self.kept_n[s, a]
        if n == 0:
            return 1.0
        log = np.log(200 * self.S * self.A * self.H**2 * self.K**2 / self.delta)
        p = self.kept_next[s, a] / n
        b = 460 / 9 * np.sqrt(self.var(p, V) * log / n) + 544 / 9 * log / n
        return min(self.r[h, s, a] + p @ V + self.c * b, 1.0)


class UCRL2(Tabular):
    """Extended value iteration as Jaksch et al. print it. Fault: it changes P̂ in place."""

    def plan(self):
        self.started = self.steps
        self.estimate = np.array(
            [[self.p(s, a) if self.n[s, a] else np.zeros(self.S) for a in range(self.A)] for s in range(self.S)]
        )
        return super().plan()

    def q(self, h, s, a, V):
        if self.n[s, a] == 0:
            return self.r[h, s, a] + V.max()
        log = np.log(2 * self.S * self.A * (self.started + 1) / self.delta)
        slack = self.c * np.sqrt(4 * self.S * log / self.n[s, a])
        p = self.estimate[s, a] if self.fault else self.estimate[s, a].copy()
        order = list(np.argsort(V))
        best = order[-1]
        p[best] = min(1.0, p[best] + slack / 2)
        worst = 0
        while p.sum() > 1 + 1e-15 and order[worst] != best:
            y = order[worst]
            p[y] = max(0.0, 1 - (p.sum() - p[y]))
            worst += 1
        return self.r[h, s, a] + p @ V


class Greedy(Tabular):
    """Fault: pairs that were never tried are taken to lead to the best state."""

    def q(self, h, s, a, V):
        if self.n[s, a] == 0:
            return self.r[h, s, a] + (V.max() if self.fault else 0.0)
        return self.r[h, s, a] + self.p(s, a) @ V


class QLearning:
    """Jin et al.'s Algorithms 1 and 2. Fault: α and 1 − α are swapped."""

    bernstein = False

    def __init__(self, rewards, multiplier=1.0, episodes=1000, delta=0.1, fault=False):
        self.H, self.S, self.A = rewards.shape
        self.c, self.fault = multiplier, fault
        self.iota = np.log(self.S * self.A * episodes * self.H / delta)
        self.Q = np.full((self.H, self.S, self.A), float(self.H))
        self.seen = {}  # (h, s, a) → all targets V(s') so far
        self.beta = {}

    def plan(self):
        V = np.zeros((self.H + 1, self.S))
        V[:-1] = self.Q.max(axis=2)
        return self.Q.copy(), V

    def observe(self, h, s, a, reward, next_state, V):
        H, iota = self.H, self.iota
        target = min(H, V[h + 1, next_state])
        self.seen.setdefault((h, s, a), []).append(target)
        t = len(self.seen[h, s, a])
        alpha = (H + 1) / (H + t)
        if self.bernstein:
            W = np.var(self.seen[h, s, a])
            fine = np.sqrt(H / t * (W + H) * iota) + np.sqrt(H**7 * self.S * self.A) * iota / t
            beta = min(fine, np.sqrt(H**3 * iota / t))
            b = (beta - (1 - alpha) * self.beta.get((h, s, a), 0.0)) / (2 * alpha)
            self.beta[h, s, a] = beta
        else:
            b = np.sqrt(H**3 * iota / t)
        if self.fault:
            alpha = 1 - alpha
        self.Q[h, s, a] = (1 - alpha) * self.Q[h, s, a] + alpha * (reward + target + self.c * b)

    def finish(self):
        pass


class QLearningBernstein(QLearning):
    bernstein = True
