/* UCRL-WVTR on the river as a scalar program would be written in C: one path, no batching, small fixed loops.
   The honest competitor of the batched library: same algorithm (Algorithms 1 and 2, M = 3, d = 3), its own
   random numbers, inverse kept by Sherman-Morrison, exact policy value every episode as the library has it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define D 3
#define N 3
#define LEVELS 4
#define MAX_STATES 16

static uint64_t next_word(uint64_t *x) { /* splitmix64 */
    uint64_t z = (*x += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
static double uniform(uint64_t *x) { return (double)(next_word(x) >> 11) * 0x1p-53; }
static double clip(double x) { return x < 0 ? 0 : (x > 1 ? 1 : x); }

static double norm(const double P[D][D], const double *f) {
    double total = 0;
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) total += f[i] * P[i][j] * f[j];
    return sqrt(total > 0 ? total : 0);
}

/* Runs `episodes` episodes; writes the value of each episode's policy from the first state. */
void run(int states, int horizon, int episodes, uint64_t seed, double left_reward, double *policy_values) {
    const double theta_star[D] = {0.9, 0.05, 0.05};
    const double ridge = 1e-3, sigma_min = 0.01, gamma = 0.5, beta = 1.0;
    static const int A = 2;
    int succ[MAX_STATES][2][N];
    double phi[MAX_STATES][2][N][D], prob[MAX_STATES][2][N], reward[MAX_STATES][2];
    memset(phi, 0, sizeof phi);
    memset(reward, 0, sizeof reward);
    for (int s = 0; s < states; s++)
        for (int a = 0; a < A; a++) {
            succ[s][a][0] = s > 0 ? s - 1 : 0;
            succ[s][a][1] = s;
            succ[s][a][2] = s < states - 1 ? s + 1 : s;
        }
    for (int s = 0; s < states; s++) {
        for (int i = 0; i < D; i++) phi[s][0][0][i] = 1;
        if (s == 0) { phi[s][1][2][0] = phi[s][1][1][1] = phi[s][1][1][2] = 1; }
        else if (s == states - 1) { phi[s][1][1][0] = phi[s][1][0][1] = phi[s][1][0][2] = 1; }
        else { phi[s][1][2][0] = phi[s][1][1][1] = phi[s][1][0][2] = 1; }
    }
    reward[0][0] = left_reward / horizon;
    reward[states - 1][1] = 1.0 / horizon;
    for (int s = 0; s < states; s++)
        for (int a = 0; a < A; a++)
            for (int n = 0; n < N; n++) {
                prob[s][a][n] = 0;
                for (int i = 0; i < D; i++) prob[s][a][n] += phi[s][a][n][i] * theta_star[i];
            }
    double P[LEVELS][D][D], frozen[LEVELS][D][D], theta[LEVELS][D], b[LEVELS][D];
    memset(P, 0, sizeof P); memset(theta, 0, sizeof theta); memset(b, 0, sizeof b);
    for (int m = 0; m < LEVELS; m++)
        for (int i = 0; i < D; i++) P[m][i][i] = 1 / ridge;
    double *V = calloc((size_t)(horizon + 1) * MAX_STATES, sizeof(double));
    int *policy = malloc(sizeof(int) * (size_t)horizon * MAX_STATES);
    uint64_t random = seed;
    for (int k = 0; k < episodes; k++) {
        double W[MAX_STATES] = {0}, W_next[MAX_STATES];
        memcpy(frozen, P, sizeof P);
        for (int h = horizon - 1; h >= 0; h--) {
            const double *next = V + (size_t)(h + 1) * MAX_STATES;
            for (int s = 0; s < states; s++) {
                double q[2];
                for (int a = 0; a < A; a++) {
                    double f[D] = {0}, mean = 0;
                    for (int n = 0; n < N; n++)
                        for (int i = 0; i < D; i++) f[i] += phi[s][a][n][i] * next[succ[s][a][n]];
                    for (int i = 0; i < D; i++) mean += f[i] * theta[0][i];
                    q[a] = clip(reward[s][a] + mean + beta * norm(frozen[0], f));
                }
                int action = q[1] > q[0] || (q[1] == q[0] && (next_word(&random) & 1));
                V[(size_t)h * MAX_STATES + s] = q[action];
                policy[h * MAX_STATES + s] = action;
                double w = reward[s][action];
                for (int n = 0; n < N; n++) w += prob[s][action][n] * W[succ[s][action][n]];
                W_next[s] = w;
            }
            memcpy(W, W_next, sizeof W);
        }
        policy_values[k] = W[0];
        int s = 0;
        for (int h = 0; h < horizon; h++) {
            const double *next = V + (size_t)(h + 1) * MAX_STATES;
            int a = policy[h * MAX_STATES + s], slot = 0;
            double u = uniform(&random), cumulative = prob[s][a][0];
            while (slot < N - 1 && u >= cumulative) cumulative += prob[s][a][++slot];
            int s2 = succ[s][a][slot];
            double f[LEVELS][D], mean[LEVELS], start[LEVELS], now[LEVELS], y[LEVELS], u_n[N];
            for (int n = 0; n < N; n++) u_n[n] = next[succ[s][a][n]];
            double target = next[s2];
            for (int m = 0; m < LEVELS; m++) {
                for (int i = 0; i < D; i++) f[m][i] = 0;
                for (int n = 0; n < N; n++)
                    for (int i = 0; i < D; i++) f[m][i] += phi[s][a][n][i] * u_n[n];
                mean[m] = 0;
                for (int i = 0; i < D; i++) mean[m] += f[m][i] * theta[m][i];
                mean[m] = clip(mean[m]);
                start[m] = beta * norm(frozen[m], f[m]);
                now[m] = norm(P[m], f[m]);
                y[m] = target;
                for (int n = 0; n < N; n++) u_n[n] *= u_n[n];
                target *= target;
            }
            for (int m = 0; m < LEVELS; m++) {
                double variance = 1;
                if (m < LEVELS - 1)
                    variance = mean[m + 1] - mean[m] * mean[m] + fmin(1, 2 * start[m]) + fmin(1, start[m + 1]);
                variance = fmax(fmax(variance, sigma_min * sigma_min), gamma * gamma * now[m]);
                double g[D], total = variance;
                for (int i = 0; i < D; i++) {
                    g[i] = 0;
                    for (int j = 0; j < D; j++) g[i] += P[m][i][j] * f[m][j];
                    total += g[i] * f[m][i];
                }
                for (int i = 0; i < D; i++) {
                    for (int j = 0; j < D; j++) P[m][i][j] -= g[i] * g[j] / total;
                    b[m][i] += f[m][i] * y[m] / variance;
                }
            }
            s = s2;
        }
        for (int m = 0; m < LEVELS; m++)
            for (int i = 0; i < D; i++) {
                theta[m][i] = 0;
                for (int j = 0; j < D; j++) theta[m][i] += P[m][i][j] * b[m][j];
            }
    }
    free(V);
    free(policy);
}
