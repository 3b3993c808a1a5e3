# SPDX-License-Identifier: BSD-3-Clause
"""One compiled step of a method of collocation: Newton's method for its stages, and its error estimate.

With J = (0 I; Jq Jv) and an eigenvalue μ/h of the transformed equations, positions are eliminated by hand:
(μ/h − J)(dq, dv) = (r, s) becomes, for g = h/μ,

    (I − g Jv − g² Jq) dv = g (s + g Jq r),    dq = g (r + dv).

The complex equations are solved as real ones of twice the size, for their real and imaginary parts.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, element, load, number, store
from dalembert.native.collocation import STAGES, Collocation
from dalembert.native.dense_solver import write_factor, write_solve
from dalembert.native.integrator_parts import Memory, Parts, evaluate
from dalembert.native.newton_convergence import STATE_ROUNDING, CompiledNewtonConvergence
from dalembert.native.step_control import RTOL, allowed
from dalembert.native.writer import Writer, whole

Pair = tuple[Any, Any]
"""Real and imaginary part."""


def write_collocation_step(module: ir.Module, parts: Parts) -> ir.Function:
    """Write step(y, t, h, p, k, stage, y1, settings): y1 is the state after one step, whose derivatives are in k."""
    return _StepWriter(module, parts).write()


class _StepWriter:
    """Writes the function ``step``."""

    def __init__(self, module: ir.Module, parts: Parts):
        assert isinstance(parts.tableau, Collocation)
        n = parts.n
        self.parts, self.method = parts, parts.tableau
        self.functions = {size: (write_factor(module, size), write_solve(module, size)) for size in {n, 2 * n}}
        self.w = w = Writer(module, "step", (POINTER, DOUBLE, DOUBLE, *[POINTER] * 5))
        self.y, self.t, self.h, self.p, self.k, self.stage, self.y1, self.settings = w.function.args
        self.memory = Memory(w, parts, self.k)
        real, pair = self.method.eigenvalues
        # w₂ + i w₃ belongs to the conjugate eigenvalue
        self.values = (complex(real), pair.conjugate())
        self.g: list[Pair] = [self._scaled(1 / value) for value in self.values]

    def _scaled(self, value: complex) -> Pair:
        b = self.w.b
        return b.fmul(self.h, number(value.real)), b.fmul(self.h, number(value.imag))

    def write(self) -> ir.Function:
        """Write the factorisations, the iteration, the result and the error."""
        w, memory, size = self.w, self.memory, self.parts.size
        self._factor()
        # from zero, not from the polynomial of the last step as in RADAU5: the result depends on the state alone
        for i in w.each(2 * STAGES * size):
            store(w.b, number(0.0), memory.stages, i)
        converged = self._iterate()
        # the last node is the end of the step, so that its stage is the result, without a sum over slopes
        last = (STAGES - 1) * size
        for i in w.each(size):
            store(w.b, w.b.fadd(load(w.b, self.y, i), load(w.b, memory.stages, w.b.add(i, whole(last)))), self.y1, i)
        self._estimate()
        # in the place of the validity of an evaluation, which the step tests at its end
        store(w.b, converged, self._slot(STAGES + 1), size)
        w.b.ret_void()
        return w.function

    def _slot(self, s: int) -> Any:
        return element(self.w.b, self.k, s * self.parts.stride)

    def _factor(self) -> None:
        """Factor I − g Jv − g² Jq for the real and for the complex eigenvalue."""
        w, n, b = self.w, self.parts.n, self.w.b
        for i in w.each(n):
            for j in w.each(n):
                jq, jv = self.memory.slope(i, j), self.memory.slope(i, b.add(j, whole(n)))
                unit = b.select(b.icmp_signed("==", i, j), number(1.0), number(0.0))
                for complex_too, (re, im) in enumerate(self.g):
                    square = b.fsub(b.fmul(re, re), b.fmul(im, im))
                    real = b.fsub(unit, b.fadd(b.fmul(re, jv), b.fmul(square, jq)))
                    if not complex_too:
                        store(w.b, real, self.memory.matrix, b.add(b.mul(i, whole(n)), j))
                        continue
                    product = b.fmul(number(2.0), b.fmul(re, im))
                    imaginary = b.fneg(b.fadd(b.fmul(im, jv), b.fmul(product, jq)))
                    place = b.add(b.mul(i, whole(2 * n)), j)
                    # (real, −imaginary; imaginary, real), by rows of 2n entries
                    for offset, value in (
                        (0, real),
                        (n, b.fneg(imaginary)),
                        (2 * n * n, imaginary),
                        (2 * n * n + n, real),
                    ):
                        store(w.b, value, self.memory.pair_matrix, b.add(place, whole(offset)))
        b.call(self.functions[n][0], [self.memory.matrix, self.memory.pivots])
        b.call(self.functions[2 * n][0], [self.memory.pair_matrix, self.memory.pair_pivots])

    def _iterate(self) -> Any:
        """Solve the equations of the stages; return one if the iteration converged, else zero."""
        iteration = CompiledNewtonConvergence(self.w, self.settings, self.method.order, self.memory.slowness)
        with self.w.during(iteration.goes_on):
            iteration.after(self._newton_step())
        return iteration.converged()

    def _newton_step(self) -> Any:
        """Improve the stages once; return the root mean square of the change of w in tolerances."""
        w, b, size, memory = self.w, self.w.b, self.parts.size, self.memory
        for s in range(STAGES):
            for i in w.each(size):
                moved = b.fadd(load(b, self.y, i), load(b, memory.stages, b.add(i, whole(s * size))))
                store(b, moved, self.stage, i)
            time = b.fadd(self.t, b.fmul(number(self.method.fractions[s]), self.h))
            evaluate(w, self.parts, self.stage, time, self.p, self._slot(s + 1))
        for i in w.each(size):
            self._right_sides(i)
        self._solve(0, 0)
        self._solve(1, size)
        total, forward = w.variable(DOUBLE, number(0.0)), self.method.transformation[0]
        for i in w.each(size):
            # in tolerances, so that convergence does not depend on the units of the coordinates
            tolerance = allowed(w, self.settings, i, w.intrinsic("fabs", load(b, self.y, i)))
            new: list[Any] = []
            for s in range(STAGES):
                change = load(b, memory.right, b.add(i, whole(s * size)))
                place = b.add(i, whole((STAGES + s) * size))
                new.append(b.fadd(load(b, memory.stages, place), change))
                store(b, new[-1], memory.stages, place)
                ratio = b.fdiv(change, tolerance)
                b.store(b.fadd(w.get(total), b.fmul(ratio, ratio)), total)
            # the iteration is one of w, whose equations are not coupled; forces are evaluated at z = T w
            for s in range(STAGES):
                store(b, self._sum(forward[s], new), memory.stages, b.add(i, whole(s * size)))
        return w.intrinsic("sqrt", b.fdiv(w.get(total), number(STAGES * size)))

    def _sum(self, factors: Any, values: Any) -> Any:
        total: Any = number(0.0)
        for factor, value in zip(factors, values, strict=True):
            product = self.w.b.fmul(number(float(factor)), value, flags=("contract",))
            total = self.w.b.fadd(total, product, flags=("contract",))
        return total

    def _right_sides(self, i: Any) -> None:
        """Store component i of T⁻¹ f − Λ w / h."""
        b, size, memory = self.w.b, self.parts.size, self.memory
        slopes = [load(b, self._slot(s + 1), i) for s in range(STAGES)]
        own = [load(b, memory.stages, b.add(i, whole((STAGES + s) * size))) for s in range(STAGES)]
        gamma, pair = (value for value in self.values)
        rates = [
            self._sum((gamma.real, 0.0, 0.0), own),
            self._sum((0.0, pair.real, -pair.imag), own),
            self._sum((0.0, pair.imag, pair.real), own),
        ]
        backward = self.method.transformation[1]
        for s in range(STAGES):
            value = b.fsub(self._sum(backward[s], slopes), b.fdiv(rates[s], self.h))
            store(b, value, memory.right, b.add(i, whole(s * size)))

    def _solve(self, which: int, start: int) -> None:
        """Replace the right sides from ``start`` on by the solution for the real or the complex eigenvalue."""
        w, b, n, memory = self.w, self.w.b, self.parts.n, self.memory
        size, count, (re, im) = self.parts.size, which + 1, self.g[which]
        # the imaginary part of a complex right side follows its real part
        places = [start + part * size for part in range(count)]

        def times_g(values: list[Any]) -> list[Any]:
            if count == 1:
                return [b.fmul(re, values[0])]
            first, second = values
            real = b.fsub(b.fmul(re, first), b.fmul(im, second))
            return [real, b.fadd(b.fmul(re, second), b.fmul(im, first))]

        for i in w.each(n):
            totals = [w.variable(DOUBLE, number(0.0)) for _ in places]
            for j in w.each(n):
                slope = memory.slope(i, j)
                for total, place in zip(totals, places, strict=True):
                    product = b.fmul(slope, load(b, memory.right, b.add(j, whole(place))), flags=("contract",))
                    b.store(b.fadd(w.get(total), product, flags=("contract",)), total)
            forces = [load(b, memory.right, b.add(i, whole(place + n))) for place in places]
            pulled = [b.fadd(f, x) for f, x in zip(forces, times_g([w.get(total) for total in totals]), strict=True)]
            for part, value in enumerate(times_g(pulled)):
                store(b, value, memory.solution, b.add(i, whole(part * n)))
        matrix = (memory.matrix, memory.pivots) if count == 1 else (memory.pair_matrix, memory.pair_pivots)
        b.call(self.functions[count * n][1], [*matrix, memory.solution])
        for i in w.each(n):
            rates = [load(b, memory.solution, b.add(i, whole(part * n))) for part in range(count)]
            rights = [load(b, memory.right, b.add(i, whole(place))) for place in places]
            positions = times_g([b.fadd(r, v) for r, v in zip(rights, rates, strict=True)])
            for place, position, rate in zip(places, positions, rates, strict=True):
                store(b, position, memory.right, b.add(i, whole(place)))
                store(b, rate, memory.right, b.add(i, whole(place + n)))

    def _estimate(self) -> None:
        """Store the error estimate, divided by h.

        RADAU5 may multiply it by (1 − hJ/γ)⁻¹ once more, at its start and after rejected steps. That is right for
        stiff damping, and hides the errors of stiff springs: a mass that a spring without damping pulls along cos t
        took steps of 1 s at rtol = 1e-9, with errors of the velocity of the order of one.

        The tolerance of a step assumes an estimate e far above the error, as it is in slow motions. Along stiff springs
        the two are equal. The part (hJ/γ)² (1 − hJ/γ)⁻² e is as small as the error in slow motions, and e in stiff
        directions: by a weight it holds the error there to the tolerance of the motion.
        """
        w, b, size, memory, last = self.w, self.w.b, self.parts.size, self.memory, self._slot(STAGES + 1)
        for i in w.each(size):
            # the slope at the start is in the first slot of k
            stages = [load(b, memory.stages, b.add(i, whole(s * size))) for s in range(STAGES)]
            change = b.fdiv(self._sum(self.method.error_weights, stages), self.h)
            store(b, b.fadd(load(b, self.k, i), change), memory.right, i)
        self._solve(0, 0)
        for i in w.each(size):
            store(b, load(b, memory.right, i), last, i)
        # twice: directions that are not stiff, in which hJ/γ is small, then contribute its square only
        for _ in range(2):
            self._keep_stiff_part()
        weight = self._stiff_weight()
        for i in w.each(size):
            whole_error, stiff = (w.intrinsic("fabs", load(b, x, i)) for x in (last, memory.right))
            # the rounding of a position, times a large stiffness, is no error that a shorter step would reduce
            above = w.intrinsic("maxnum", b.fsub(stiff, self._rounding(i)), number(0.0))
            larger = w.intrinsic("maxnum", whole_error, b.fmul(weight, above))
            store(b, b.fdiv(larger, self.h), last, i)

    def _stiff_weight(self) -> Any:
        factor, least = self.method.stiff_weights()
        own = self.w.intrinsic("maxnum", load(self.w.b, self.settings, RTOL), number(least))
        return self.w.b.fdiv(number(factor), self.w.intrinsic("sqrt", own))

    def _rounding(self, i: Any) -> Any:
        """Return the rounding of component i of the estimate: that of a velocity is that of its position, over h/γ."""
        b, n = self.w.b, self.parts.n
        is_position = b.icmp_signed("<", i, whole(n))
        position = b.select(is_position, i, b.sub(i, whole(n)))
        rounding = b.fmul(number(STATE_ROUNDING), self.w.intrinsic("fabs", load(b, self.y, position)))
        return b.select(is_position, rounding, b.fdiv(rounding, self.g[0][0]))

    def _keep_stiff_part(self) -> None:
        """Replace e, the first right side, by −hJ/γ (1 − hJ/γ)⁻¹ e = e − (1 − hJ/γ)⁻¹ e."""
        w, b, size, right = self.w, self.w.b, self.parts.size, self.memory.right
        for i in w.each(size):
            store(b, load(b, right, i), right, b.add(i, whole(size)))
        self._solve(0, 0)
        for i in w.each(size):
            damped = b.fdiv(load(b, right, i), self.g[0][0])
            store(b, b.fsub(load(b, right, b.add(i, whole(size))), damped), right, i)


def write_linearise(module: ir.Module, parts: Parts, tangent: ir.Function) -> ir.Function:
    """Write linearise(y, t, p, k): the derivatives of the acceleration by the state, for a step from there.

    The program ``tangent`` returns one directional derivative; its state is followed by a direction.
    """
    w = Writer(module, "linearise", (POINTER, DOUBLE, POINTER, POINTER))
    y, t, p, k = w.function.args
    memory, size = Memory(w, parts, k), parts.size
    for i in w.each(size):
        store(w.b, load(w.b, y, i), memory.directed, i)
        store(w.b, number(0.0), memory.directed, w.b.add(i, whole(size)))
    for i in w.each(size):
        place = w.b.add(i, whole(size))
        store(w.b, number(1.0), memory.directed, place)
        w.b.call(tangent, [memory.directed, t, p, element(w.b, memory.slopes, w.b.mul(i, whole(parts.n)))])
        store(w.b, number(0.0), memory.directed, place)
    w.b.ret_void()
    return w.function
