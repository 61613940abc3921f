"""The function that Python calls, in LLVM: Python objects → the arguments of a kernel, and its result → a Python int.

For each entry point this adds `call(self, arguments, count)` in the calling convention of Python's built-in functions
(`METH_FASTCALL`). It checks each argument against the signature, and releases the interpreter while the kernel runs,
unless the kernel is short. It needs nothing of Numba at run time: arrays are read as NumPy's C interface lays them out,
and what a kernel allocates comes from `malloc`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

SYMBOL = "call"
NDARRAY = "numpy_ndarray"  # stands for the address of NumPy's array type

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _I8.as_pointer()

# NumPy's `PyArrayObject` and `PyArray_Descr` on machines with 64-bit addresses.
_TYPE, _DATA, _DIMENSIONS, _SHAPE, _STRIDES, _DESCR, _FLAGS = 8, 16, 24, 32, 40, 56, 64
_KIND, _BYTE_ORDER, _ITEM_SIZE = 24, 26, 40
_CONTIGUOUS_ALIGNED_WRITABLE = 0x1 | 0x100 | 0x400


class _Caller:
    """The function under construction."""

    def __init__(self, context: Any, module: Any, name: str) -> None:
        self.context = context
        self.module = module
        self.name = name
        self.function = ir.Function(module, ir.FunctionType(_POINTER, [_POINTER, _POINTER, _I64]), SYMBOL)
        self.builder = ir.IRBuilder(self.function.append_basic_block())

    def extern(self, name: str, result: Any, *arguments: Any) -> Any:
        return cgutils.get_or_insert_function(self.module, ir.FunctionType(result, arguments), name)

    def datum(self, name: str) -> Any:
        """Returns the address of something that has a name outside."""
        found = self.module.globals.get(name) or ir.GlobalVariable(self.module, _I8, name)
        return found

    def load(self, kind: Any, address: Any, offset: int) -> Any:
        place = self.builder.gep(address, [_I64(offset)])
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()))

    def fail(self, error: str, message: str) -> None:
        """Sets an exception and returns."""
        text = cgutils.global_constant(self.module, "message", cgutils.make_bytearray(message.encode() + b"\0"))
        kind = self.builder.load(self.builder.bitcast(self.datum(error), _POINTER.as_pointer()))
        function = self.extern("PyErr_SetString", ir.VoidType(), _POINTER, _POINTER)
        self.builder.call(function, [kind, self.builder.bitcast(text, _POINTER)])
        self.builder.ret(ir.Constant(_POINTER, None))

    def require(self, condition: Any, message: str) -> None:
        with self.builder.if_then(self.builder.not_(condition), likely=False):
            self.fail("PyExc_TypeError", f"{self.name}(): {message}")

    def number(self, given: Any, kind: Any) -> Any:
        """Converts a Python number."""
        name, result = {
            types.int64: ("PyLong_AsLongLong", _I64),
            types.uint64: ("PyLong_AsUnsignedLongLong", _I64),
            types.float64: ("PyFloat_AsDouble", ir.DoubleType()),
        }[kind]
        found = self.builder.call(self.extern(name, result, _POINTER), [given])
        if kind == types.float64:
            is_odd = self.builder.fcmp_ordered("==", found, result(-1.0))
        else:
            is_odd = self.builder.icmp_signed("==", found, result(-1))
        with self.builder.if_then(is_odd, likely=False):
            error = self.builder.call(self.extern("PyErr_Occurred", _POINTER), [])
            with self.builder.if_then(cgutils.is_not_null(self.builder, error), likely=False):
                self.builder.ret(ir.Constant(_POINTER, None))
        return found

    def array(self, given: Any, kind: Any, position: int) -> Any:
        """Reads an array of the kind that the signature says; it holds no reference, because Python does."""
        builder = self.builder
        message = f"argument {position + 1} is no writable {kind}"
        own_type = self.load(_POINTER, given, _TYPE)
        with builder.if_then(builder.icmp_unsigned("!=", own_type, self.datum(NDARRAY)), likely=False):
            is_subtype = self.extern("PyType_IsSubtype", _I32, _POINTER, _POINTER)
            found = builder.call(is_subtype, [own_type, self.datum(NDARRAY)])
            self.require(builder.icmp_signed("!=", found, _I32(0)), message)
        flags = builder.and_(self.load(_I32, given, _FLAGS), _I32(_CONTIGUOUS_ALIGNED_WRITABLE))
        descr = self.load(_POINTER, given, _DESCR)
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        letter = {types.boolean: "b"}.get(kind.dtype) or ("f" if isinstance(kind.dtype, types.Float) else None)
        letter = letter or ("i" if kind.dtype.signed else "u")
        fits = builder.icmp_signed("==", flags, _I32(_CONTIGUOUS_ALIGNED_WRITABLE))
        for condition in (
            builder.icmp_signed("==", self.load(_I32, given, _DIMENSIONS), _I32(kind.ndim)),
            builder.icmp_signed("==", self.load(_I8, descr, _KIND), _I8(ord(letter))),
            builder.icmp_signed("!=", self.load(_I8, descr, _BYTE_ORDER), _I8(ord(">"))),
            builder.icmp_signed("==", self.load(_I64, descr, _ITEM_SIZE), _I64(size)),
        ):
            fits = builder.and_(fits, condition)
        self.require(fits, message)
        shape, strides = self.load(_POINTER, given, _SHAPE), self.load(_POINTER, given, _STRIDES)
        made = self.context.make_array(kind)(self.context, builder)
        lengths = [self.load(_I64, shape, 8 * axis) for axis in range(kind.ndim)]
        made.data = builder.bitcast(self.load(_POINTER, given, _DATA), made.data.type)
        made.shape = cgutils.pack_array(builder, lengths, ty=_I64)
        made.strides = cgutils.pack_array(builder, [self.load(_I64, strides, 8 * k) for k in range(kind.ndim)], ty=_I64)
        made.itemsize = _I64(size)
        count = lengths[0]
        for length in lengths[1:]:
            count = builder.mul(count, length)
        made.nitems = count
        made.meminfo = ir.Constant(made.meminfo.type, None)
        made.parent = ir.Constant(made.parent.type, None)
        return made._getvalue()


def add_caller(context: Any, module: Any, fndesc: Any, name: str, *, is_short: bool) -> None:
    """Adds to a module of LLVM the function by which Python calls a compiled kernel; see `EntryPoint`."""
    caller = _Caller(context, module, name)
    builder = caller.builder
    _, arguments, count = caller.function.args
    expected = len(fndesc.argtypes)
    caller.require(builder.icmp_signed("==", count, _I64(expected)), f"takes {expected} arguments")
    values = []
    for position, kind in enumerate(fndesc.argtypes):
        given = caller.load(_POINTER, arguments, 8 * position)
        is_array = isinstance(kind, types.Array)
        values.append(caller.array(given, kind, position) if is_array else caller.number(given, kind))
    native = context.declare_function(module, fndesc)
    thread = None if is_short else builder.call(caller.extern("PyEval_SaveThread", _POINTER), [])
    status, result = context.call_conv.call_function(builder, native, fndesc.restype, fndesc.argtypes, values)
    if thread is not None:
        builder.call(caller.extern("PyEval_RestoreThread", ir.VoidType(), _POINTER), [thread])
    with builder.if_then(status.is_error, likely=False):
        caller.fail("PyExc_MemoryError", f"{name}() failed")
    if fndesc.restype == types.none:
        result = _I64(0)
    boxed = caller.extern("PyLong_FromLongLong", _POINTER, _I64)
    builder.ret(builder.call(boxed, [result]))


# Numba's run-time system as far as kernels use it: memory with a count of references in front (`NRT_MemInfo`: count,
# destructor, its argument, data, size, allocator). A kernel that calls anything else of it is not linked.
RUN_TIME = """
declare ptr @malloc(i64)
declare void @free(ptr)

define linkonce_odr ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %with_head = add i64 %size, 48
  %whole = add i64 %with_head, %wide
  %made = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %end, label %fill
fill:
  %address = ptrtoint ptr %made to i64
  %behind = add i64 %address, 48
  %up = add i64 %behind, %wide
  %less = sub i64 %up, 1
  %mask = sub i64 0, %wide
  %aligned = and i64 %less, %mask
  %data = inttoptr i64 %aligned to ptr
  store i64 1, ptr %made
  %destructor = getelementptr i8, ptr %made, i64 8
  store ptr null, ptr %destructor
  %argument = getelementptr i8, ptr %made, i64 16
  store ptr null, ptr %argument
  %place = getelementptr i8, ptr %made, i64 24
  store ptr %data, ptr %place
  %length = getelementptr i8, ptr %made, i64 32
  store i64 %size, ptr %length
  %allocator = getelementptr i8, ptr %made, i64 40
  store ptr null, ptr %allocator
  br label %end
end:
  ret ptr %made
}

define linkonce_odr ptr @NRT_MemInfo_alloc(i64 %size) {
  %made = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 16)
  ret ptr %made
}

define linkonce_odr ptr @NRT_Allocate(i64 %size) {
  %made = call ptr @malloc(i64 %size)
  ret ptr %made
}

define linkonce_odr void @NRT_Free(ptr %made) {
  call void @free(ptr %made)
  ret void
}

define linkonce_odr void @NRT_MemInfo_call_dtor(ptr %made) {
  call void @free(ptr %made)
  ret void
}
"""
