r"""Roles: a Boolean matrix as the OR of few rows, of which every user may hold several at the same time.

`NoisyOrFactorization` fits

.. math:: p(x_{ij} = 1 \mid L) = \epsilon r + (1 - \epsilon) \Bigl(1 - \prod_{t \in L} \beta_{tj}\Bigr),
          \qquad |L| \le M ,

where L is the set of roles of user i, beta the probability that a role does NOT grant a permission, and epsilon the
share of bits that are noise and equal 1 with probability r. The number of roles is chosen in `factorization`.

References: 002 section 5.
"""

import copy
from itertools import combinations
from math import comb

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .. import checks
from ..trajectory import Trajectory, check_betas
from ..views.measures import ROW_MAPPINGS, map_rows
from .base import ClusteringModel, follow

COOLING = 0.9  # factor of the temperature from step to step
STATE = ("off_probabilities_", "noise_", "noise_one_", "label_set_probabilities_")  # what EM moves
_FLOOR = 1e-10  # probabilities stay this far from 0 and 1, so that no bit costs an infinite amount


class NoisyOrFactorization(ClusteringModel):
    """Boolean factorization X ~ assignments OR-AND components, by annealed EM for the noisy-OR mixture-noise model.

    Parameters
    ----------
    n_components : int
        Number of roles K, 1..n_samples.
    max_roles : int
        Most roles a row may hold at once, M >= 1. The label sets are all subsets of at most M of the K roles.
    n_refinements : int
        Attempts, after the annealing, to replace a wasted role: two roles are added and the two least useful ones
        dropped, and the result is kept if it is more probable.
    random_state : int, Generator or None

    Attributes
    ----------
    components_ : ndarray of bool, shape (K, D)
        Which role grants which permission: beta < 1/2. Thresholding is needed, as beta absorbs part of the noise.
    off_probabilities_ : ndarray, shape (K, D)
        beta, the probability that a role does not switch a bit on.
    assignments_ : ndarray of bool, shape (N, K)
        Roles of every row: its most probable label set.
    label_sets_ : ndarray of bool, shape (L, K)
    label_set_probabilities_ : ndarray, shape (L,)
    noise_ : float
        epsilon, the share of bits that are noise. It is not identified where beta is free.
    noise_one_ : float
        r, the probability that a noise bit is 1.
    log_likelihood_ : float
        Of all rows at temperature 1, nats.
    labels_, trajectory_, n_iter_, n_features_in_, feature_names_in_
        See `ClusteringModel`. The clusters are the label sets, L of them, and iterations are EM steps of the kept run.

    Notes
    -----
    The objects are the rows; the potential of a row in label set L is -log p(L) p(x_i | L), in nats, so `betas` are
    inverse temperatures up to 1, and None takes 10 / D to 1, a tenth cooler a step. Above temperature 1 each step
    is a few EM steps of a schedule, no fixed point; at the last, `Trajectory.converged` says whether EM settled. What
    may replace a wasted role would be lost in the heat: it is looked for at the last temperature only. An `init` is
    refused.

    References
    ----------
    002 section 5; the model is that of its reference 22 (multi-assignment clustering for Boolean data).

    Examples
    --------
    >>> import numpy as np, gencap as gc
    >>> X = np.kron(np.eye(2, dtype=bool), np.ones((5, 3), dtype=bool))
    >>> model = gc.NoisyOrFactorization(2, max_roles=1, random_state=0).fit(X)
    >>> sorted(model.components_.sum(axis=1).tolist()), model.transfer_cost(X, X)
    ([3, 3], 0.0)
    """

    _positive_only = True

    def __init__(self, n_components=8, max_roles=2, n_refinements=5, random_state=None):
        self.n_components, self.max_roles = n_components, max_roles
        self.n_refinements, self.random_state = n_refinements, random_state

    def _prepared(self, X):
        model = copy.copy(self)
        return model, model._checked("X", X, reset=True)

    def cost(self, labels, X):
        """Sum of the potentials of rows in their label sets; needs the fit.

        Parameters
        ----------
        labels : array_like of int, shape (N,)
            Label sets of the rows.
        X : array_like of bool, shape (N, D)

        Returns
        -------
        float
            Nats.
        """
        h = self.potentials(X)
        return float(h[np.arange(len(h)), checks.check_labels("labels", labels, *h.shape)].sum())

    def _anneal(self, X, betas, init):
        if init is not None:
            raise ValueError("init must be None: the roles of a run start at random")
        n_components = checks.check_integer("n_components", self.n_components, 1, len(X), "n_samples")
        max_roles = min(checks.check_integer("max_roles", self.max_roles), n_components)
        n_refinements = checks.check_integer("n_refinements", self.n_refinements, 0)
        sets = label_sets(n_components, max_roles)
        checks.check_size(f"the table of {len(X)} rows by {len(sets)} label sets", (len(X), len(sets)))
        rng = checks.generator(self.random_state)
        temperatures = [max(X.shape[1] / 10, 1.0)] if betas is None else list(1 / check_betas(betas))
        while betas is None and temperatures[-1] > 1:
            temperatures.append(max(temperatures[-1] * COOLING, 1.0))
        betas = 1 / np.array(temperatures)
        if betas[-1] != 1:
            raise ValueError(f"betas end at {betas[-1]:g}, accepted are inverse temperatures up to 1, the model itself")
        # Single precision halves the time of the products and leaves the parameters as they are.
        single = X.astype(np.float32)
        shape, density = (n_components, X.shape[1]), np.clip(X.mean(axis=0), 0.01, 0.99)
        beta = np.clip(1 - density * rng.uniform(0.5, 1.5, shape), _FLOOR, 1 - _FLOOR)
        state, n_iter = (beta, 0.1, float(density.mean()), np.full(len(sets), 1 / len(sets))), 0

        def settle(t):
            nonlocal state, n_iter
            last = t == len(betas) - 1
            if not last:  # equal roles stay equal under EM: a little noise lets them part where it is cold enough
                state = np.clip(state[0] * rng.uniform(0.99, 1.01, shape), _FLOOR, 1 - _FLOOR), *state[1:]
            most, tolerance = (100, 1e-3) if last else (10, 1e-2)
            state, free_energy, steps = _descend(single, sets, state, temperatures[t], most, tolerance)
            n_iter += steps
            for _ in range(n_refinements * last):
                candidate, lower, more = _grow_and_prune(single, sets, state, rng)
                n_iter += more
                if lower < free_energy:
                    state, free_energy = candidate, lower
            return -_log_joint(single, sets, state), steps < most or not last

        steps = follow(betas, settle, lambda labels: 0.0, np.float32, hot_first=True)
        steps["costs"] = steps["potentials"].min(axis=2).sum(axis=1, dtype=np.float64)
        log_joint = _log_joint(X, sets, state)
        learned = dict(zip(STATE, state, strict=True), label_sets_=sets, components_=state[0] < 0.5,
                       assignments_=sets[np.argmax(log_joint, axis=1)],
                       log_likelihood_=float(np.sum(logsumexp(log_joint, axis=1))))  # fmt: skip
        return Trajectory(**steps, n_iter=n_iter, learned=learned)

    def _checked(self, name, X, reset=False):
        X = super()._checked(name, X, reset)
        checks.check_boolean(name, X)
        return X

    def potentials(self, X_new):
        """Potentials -log p(L) p(x_i | L) of new rows under the fitted parameters.

        Parameters
        ----------
        X_new : array_like of bool, shape (N, D)

        Returns
        -------
        ndarray, shape (N, L)
            Nats.
        """
        X_new = self._checked("X_new", X_new)
        return -_log_joint(X_new, self.label_sets_, [getattr(self, name) for name in STATE])

    def predict(self, X):
        """Roles of new rows under the fitted components.

        Parameters
        ----------
        X : array_like of bool, shape (N, D)

        Returns
        -------
        ndarray of bool, shape (N, K)
        """
        best = self.potentials(X).argmin(axis=1)  # an unfitted model is refused there
        return self.label_sets_[best]

    def transfer_cost(self, X1, X2, mapping="nearest", random_state=None):
        """Mean number of bits of a test row that the transferred factorization gets wrong.

        Parameters
        ----------
        X1 : array_like of bool, shape (N, D)
            The rows the model was fitted to.
        X2 : array_like of bool, shape (N2, D)
            Test rows.
        mapping : {"nearest", "hungarian", "components"}
            "nearest" and "hungarian" transfer both factors: the test row takes the roles of the row it is mapped to.
            "components" fixes the second factor only and gives the test row the label set with the fewest wrong
            bits; this tolerates overfitting, and is here to show it.
        random_state : int, Generator or None
            For ties of the mapping.

        Returns
        -------
        float

        References
        ----------
        002 section 5 (cost), section 8 ("only the second matrix is fixed").
        """
        checks.check_option("mapping", mapping, (*ROW_MAPPINGS, "components"))
        X2 = self._checked("X2", X2)
        if mapping == "components":
            offered = boolean_product(self.label_sets_, self.components_)
            return float(np.mean(cdist(X2, offered, "sqeuclidean").min(axis=1)))
        if len(X1) != len(self.assignments_):
            raise ValueError(f"X1 has {len(X1)} rows, accepted are the {len(self.assignments_)} rows of the fit")
        assignments = self.assignments_[map_rows(X1, X2, mapping=mapping, random_state=random_state)]
        return float(np.mean(np.sum(boolean_product(assignments, self.components_) != X2, axis=1)))


def boolean_product(assignments, components):
    """OR over t of (assignments[:, t] AND components[t]), bool, shape (N, D)."""
    return np.asarray(assignments, dtype=np.float32) @ np.asarray(components, dtype=np.float32) > 0.5


def label_sets(n_components, max_roles):
    """All subsets of at most `max_roles` of `n_components` roles, the empty one first: bool, shape (L, K)."""
    count = sum(comb(n_components, size) for size in range(max_roles + 1))
    what = f"{count} label sets (at most max_roles={max_roles} of {n_components} roles)"
    checks.check_size(what, (count, n_components))
    members = [m for size in range(max_roles + 1) for m in combinations(range(n_components), size)]
    return np.array([np.eye(n_components, dtype=bool)[list(m)].any(axis=0) for m in members])


def _one_probabilities(sets, state):
    """p(x_j = 1 | L), shape (L, D), and the probability that no role of L switches bit j on, prod beta."""
    beta, noise, noise_one, _ = state
    all_off = np.exp(sets @ np.log(beta))
    return np.clip(noise * noise_one + (1 - noise) * (1 - all_off), _FLOOR, 1 - _FLOOR), all_off


def _log_joint(X, sets, state):
    """log p(L) p(x_i | L), shape (N, L), in the precision of X."""
    one, _ = _one_probabilities(sets, state)
    log_zero = np.log1p(-one)
    slope, offset = np.log(one) - log_zero, log_zero.sum(axis=1) + np.log(state[3])
    return X @ slope.T.astype(X.dtype) + offset.astype(X.dtype)


def _em_step(X, sets, state, temperature):
    """One generalised EM step at a fixed temperature.

    The free energy F = -T sum_i log sum_L [p(L) p(x_i | L)]^(1/T) never rises: the assignment probabilities are its
    exact minimiser, and the parameters follow by one EM step over the latent switches of the noisy OR.

    Returns
    -------
    state : tuple
        New (beta, noise, noise_one, p(L)).
    free_energy : float
        Of the state that was passed in, nats a row.
    """
    beta, noise, noise_one, prior = state
    one, all_off = _one_probabilities(sets, state)
    probabilities = _log_joint(X, sets, state)
    largest = probabilities.max(axis=1, keepdims=True)
    probabilities -= largest
    probabilities /= temperature
    # Below e^-60 a share is nothing to the sums, but as a denormal number it slows the products a hundredfold.
    np.exp(np.maximum(probabilities, -60.0, out=probabilities), out=probabilities)
    norm = probabilities.sum(axis=1, keepdims=True)
    probabilities /= norm
    free_energy = -float(np.mean(largest + temperature * np.log(norm)))
    mass = probabilities.sum(axis=0, dtype=np.float64)
    ones = (probabilities.T @ X).astype(np.float64)
    zeros = np.maximum(mass[:, None] - ones, 0.0)

    # Expected counts, label set by bit: seen as 1 (0) and not noise.
    on = ones * (1 - noise) * (1 - all_off) / one
    off = zeros * (1 - noise) * all_off / (1 - one)
    # Given that the OR of L is 1, role t was off with probability (beta_t - prod beta) / (1 - prod beta).
    sure = ones * (1 - noise) / one
    drawn = sets.T @ (on + off)
    silent = beta * (sets.T @ sure) + sets.T @ (off - sure * all_off)
    new_beta = np.where(drawn > _FLOOR, silent / np.maximum(drawn, _FLOOR), beta)
    noise_ones = max(float(np.sum(ones - on)), 0.0)
    noise_count = noise_ones + max(float(np.sum(zeros - off)), 0.0)
    noise, noise_one = (min(max(share, _FLOOR), 1 - _FLOOR)
                        for share in (noise_count / X.size, noise_ones / max(noise_count, _FLOOR)))  # fmt: skip
    return (np.clip(new_beta, _FLOOR, 1 - _FLOOR), noise, noise_one, np.maximum(mass / len(X), _FLOOR)), free_energy


def _descend(X, sets, state, temperature, max_iter, tol):
    """EM at one temperature until a step gains less than `tol` nats a row; (state, free energy, steps)."""
    free_energy = np.inf
    for steps in range(1, max_iter + 1):  # noqa: B007 (it is returned)
        previous, (state, free_energy) = free_energy, _em_step(X, sets, state, temperature)
        if previous - free_energy < tol:
            break
    return state, free_energy, steps


def _grow_and_prune(X, sets, state, rng, n_extra=2):
    """Add roles that look like badly explained rows, reheat, cool, and drop the least useful roles again.

    Annealing alone mostly ends with one role missing and another one double; no small step leads out of that.
    """
    n_roles, max_roles = sets.shape[1], int(sets.sum(axis=1).max())
    poor = np.argsort(logsumexp(_log_joint(X, sets, state), axis=1))[: max(len(X) // 10, n_extra)]
    rows = X[rng.choice(poor, n_extra)]
    sets = label_sets(n_roles + n_extra, max_roles)
    state = (np.vstack([state[0], 0.8 - 0.6 * rows]), *state[1:3], np.full(len(sets), 1 / len(sets)))
    state, _, n_steps = _descend(X, sets, state, 4.0, 8, 1e-2)
    state, _, steps = _descend(X, sets, state, 1.0, 15, 1e-2)
    n_steps += steps
    while sets.shape[1] > n_roles:
        log_joint = _log_joint(X, sets, state)
        share = np.exp(np.maximum(log_joint - log_joint.max(axis=1, keepdims=True), -60.0))
        # The likelihood left when the label sets that hold role t are gone.
        left = np.log(np.maximum(share @ (~sets).astype(X.dtype), np.exp(-60.0))).sum(axis=0)
        role = int(np.argmax(left))
        kept = ~sets[:, role]
        prior = state[3][kept] / state[3][kept].sum()
        state, sets = (np.delete(state[0], role, axis=0), *state[1:3], prior), np.delete(sets[kept], role, axis=1)
        state, _, steps = _descend(X, sets, state, 1.0, 10, 1e-2)
        n_steps += steps
    state, free_energy, steps = _descend(X, sets, state, 1.0, 60, 1e-3)
    return state, free_energy, n_steps + steps
