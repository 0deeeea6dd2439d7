"""SIMD vectors in Numba: as many numbers as a register of this processor holds, computed on at once.

Numba turns loops into vector instructions where it can prove that it may; the kernels of this package need more
say than that: several sums kept in registers, a reciprocal instead of a division, an exponential without calls.
No library offers that to Numba, so it is written here by Numba's public extension API and llvmlite's IR builder.
A ``Vector`` value is one LLVM vector. Arithmetic on it may be fused (a * b + c in one step), but is never reordered.
Its numbers are its lanes; how many there are, ``BYTES // itemsize``, is the SIMD width.
"""

# ruff: noqa: ARG001 - the arguments that an intrinsic and its lowering take are Numba's
# mypy: disallow-untyped-calls=False, disallow-subclassing-any=False, disallow-untyped-decorators=False

from __future__ import annotations

import operator
from typing import Any

import numba.extending
from llvmlite import binding, ir
from numba import types
from numba.extending import lower_builtin, models, register_model, type_callable

intrinsic: Any = numba.extending.intrinsic

BYTES = 64 if binding.get_host_cpu_features().get("avx512f") else 32
"""Of one register: 16 float32 numbers with AVX-512, else 8."""
_FLAGS = ("contract", "arcp")
_I32 = ir.IntType(32)


class Vector(types.Type):
    """As many numbers of one kind as fit into ``BYTES``."""

    def __init__(self, scalar: types.Float) -> None:
        self.scalar = scalar
        self.count = BYTES * 8 // scalar.bitwidth
        super().__init__(name=f"Vector({scalar})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Vector) -> None:
        scalar = manager.lookup(lanes.scalar).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(scalar, lanes.count))


def _define(operation: Any, instruction: str) -> None:
    @type_callable(operation)
    def of_equal_vectors(context: Any) -> Any:
        return lambda a, b: a if isinstance(a, Vector) and a == b else None

    @lower_builtin(operation, Vector, Vector)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args, flags=_FLAGS)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
):
    _define(_operation, _instruction)


def _constant(vector: Any, number: float) -> Any:
    return ir.Constant(vector, [number] * vector.count)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, vector: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _llvm(builder: Any, name: str, *args: Any) -> Any:
    """Call one of LLVM's own functions on vectors, such as ``fma``."""
    vector = args[0].type
    width = 32 if isinstance(vector.element, ir.FloatType) else 64
    kind = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(builder.module.declare_intrinsic(f"llvm.{name}.v{vector.count}f{width}", fnty=kind), args)


def _shuffle(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(places)), places))


def _folded(builder: Any, lanes: Any) -> Any:
    """The lanes as 32 bytes: of 64, the second half is added to the first."""
    if BYTES == 32:
        return lanes
    half = lanes.type.count // 2
    low, high = (_shuffle(builder, lanes, lanes, list(range(start, start + half))) for start in (0, half))
    return builder.fadd(low, high)


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """The lanes that start at ``array[index]``; ``array`` is 1-D and contiguous, nothing is checked."""
    lanes = Vector(array.dtype)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = context.get_value_type(lanes)
        place = _pointer(context, builder, sig.args[0], args[0], args[1], vector)
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return lanes(array, types.intp), lower


@intrinsic
def store(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write the lanes to ``array[index]`` and what follows it."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _pointer(context, builder, sig.args[0], args[0], args[1], args[2].type)
        builder.store(args[2], place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), lower


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """The same number in every lane."""
    lanes = Vector(number)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = context.get_value_type(lanes)
        empty = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(empty, args[0], ir.Constant(_I32, 0))
        return _shuffle(builder, first, empty, [0] * vector.count)

    return lanes(number), lower


@intrinsic
def spread(typing: Any, array: Any, index: Any) -> Any:
    """``array[index]`` in every lane; ``array`` is 1-D and contiguous, nothing is checked."""
    lanes = Vector(array.dtype)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = context.get_value_type(lanes)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        empty = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(empty, builder.load(builder.gep(data, [args[1]])), ir.Constant(_I32, 0))
        return _shuffle(builder, first, empty, [0] * vector.count)

    return lanes(array, types.intp), lower


@intrinsic
def quotient(typing: Any, a: Any, b: Any) -> Any:
    """``a / b``, lane by lane, less than a unit in the last place off.

    ``b`` must be from 1 to 1e37 (float64: 1e300), where ``a`` is 1 from 6e-38 to 6e37 (1e-304 to 1e304).
    Where there is an estimate of 1 / b that is close enough, it is faster than a division: with r the estimate and
    q = a r, the result is q + r (a - b q).
    """

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = args[0].type
        if not (isinstance(vector.element, ir.FloatType) and vector.count == 16):
            return builder.fdiv(*args, flags=_FLAGS)
        mask = ir.IntType(16)
        kind = ir.FunctionType(vector, [vector, vector, mask])
        estimate = builder.module.declare_intrinsic("llvm.x86.avx512.rcp14.ps.512", fnty=kind)
        r = builder.call(estimate, [args[1], _constant(vector, 0.0), mask(-1)])
        q = builder.fmul(args[0], r)
        return _llvm(builder, "fma", _llvm(builder, "fma", builder.fneg(args[1]), q, args[0]), r, q)

    return a(a, b), lower


@intrinsic
def lesser(typing: Any, a: Any, b: Any) -> Any:
    """The smaller of the two, lane by lane; ``b`` where ``a`` is not a number."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return a(a, b), lower


@intrinsic
def greater(typing: Any, a: Any, b: Any) -> Any:
    """The larger of the two, lane by lane; ``b`` where ``a`` is not a number."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), lower


@intrinsic
def kept(typing: Any, lanes: Any, a: Any, b: Any) -> Any:
    """The lanes where ``a`` is more than ``b``, 0 elsewhere."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args[1:]), args[0], _constant(args[0].type, 0.0))

    return lanes(lanes, a, b), lower


@intrinsic
def largest(typing: Any, lanes: Any) -> Any:
    """The largest of the lanes, all of which must be numbers."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found, count = args[0], args[0].type.count
        step = count // 2
        while step:
            other = _shuffle(builder, found, found, [(place + step) % count for place in range(count)])
            found = builder.select(builder.fcmp_ordered(">", found, other), found, other)
            step //= 2
        return builder.extract_element(found, ir.Constant(_I32, 0))

    return lanes.scalar(lanes), lower


@intrinsic
def outside(typing: Any, lanes: Any, limit: Any) -> Any:
    """Whether any lane is beyond ``limit`` on either side, or not a number."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = args[0].type
        beyond = builder.fcmp_unordered(">", _llvm(builder, "fabs", args[0]), args[1])
        flags = ir.IntType(vector.count)
        return builder.icmp_unsigned("!=", builder.bitcast(beyond, flags), flags(0))

    return types.boolean(lanes, limit), lower


@intrinsic
def above(typing: Any, lanes: Any, limit: Any) -> Any:
    """Whether any lane is more than that of ``limit``."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        flags = ir.IntType(args[0].type.count)
        more = builder.bitcast(builder.fcmp_ordered(">", *args), flags)
        return builder.icmp_unsigned("!=", more, flags(0))

    return types.boolean(lanes, limit), lower


@intrinsic
def store_sums(typing: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Write the four sums over the lanes of ``a``, ``b``, ``c`` and ``d`` to ``array[index:index + 4]``."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        four = [_folded(builder, lanes) for lanes in args[2:]]
        count = four[0].type.count
        # Neighbours are added first, inside each half of 16 bytes, where a shuffle is cheapest.
        even = [0, 2, 8, 10, 4, 6, 12, 14] if count == 8 else [0, 4, 2, 6]

        def neighbours(x: Any, y: Any) -> Any:
            odd = [place + 1 for place in even]
            return builder.fadd(_shuffle(builder, x, y, even), _shuffle(builder, x, y, odd))

        x, y = neighbours(*four[:2]), neighbours(*four[2:])
        if count == 8:
            x = y = neighbours(x, y)
            halves = [0, 1, 2, 3], [4, 5, 6, 7]
        else:
            halves = [0, 1, 4, 5], [2, 3, 6, 7]
        sums = builder.fadd(_shuffle(builder, x, y, halves[0]), _shuffle(builder, x, y, halves[1]))
        place = _pointer(context, builder, sig.args[0], args[0], args[1], sums.type)
        builder.store(sums, place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, a, b, c, d), lower


# exp(x) = 2^n exp(r), x = n ln 2 + r, |r| <= ln 2 / 2 (Cody and Waite 1980, chapter 6): ln 2 in two parts, so that
# n times the first is exact; exp(r) by its series, cut where the next term is below the precision at |r| = 0.35.
_SERIES = {32: 7, 64: 13}
_LN2 = {32: (0.693359375, -2.12194440054690583e-4), 64: (6.93145751953125e-1, 1.42860682030941723212e-6)}
_FACTORIALS = [1.0]
for _i in range(1, 14):
    _FACTORIALS.append(_FACTORIALS[-1] * _i)


@intrinsic
def exp(typing: Any, lanes: Any) -> Any:
    """e to each lane; the result must be a normal number, so |lane| <= 87 in float32, 700 in float64."""
    bits = lanes.scalar.bitwidth
    integer = ir.VectorType(ir.IntType(bits), lanes.count)
    mantissa = {32: 23, 64: 52}[bits]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, vector = args[0], args[0].type
        n = _llvm(builder, "rint", builder.fmul(x, _constant(vector, 1.4426950408889634)))
        r = x
        for part in _LN2[bits]:
            r = _llvm(builder, "fma", n, _constant(vector, -part), r)
        result = _constant(vector, 1 / _FACTORIALS[_SERIES[bits]])
        for i in reversed(range(_SERIES[bits])):
            result = _llvm(builder, "fma", result, r, _constant(vector, 1 / _FACTORIALS[i]))
        exponent = builder.fptosi(n, integer)
        exponent = builder.shl(exponent, ir.Constant(integer, [mantissa] * lanes.count))
        return builder.bitcast(builder.add(builder.bitcast(result, integer), exponent), vector)

    return lanes(lanes), lower
