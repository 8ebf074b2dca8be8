/* Calls of compiled kernels from Python: arguments become words in memory, as rtmbs/jit/struct.py lays them out.
 *
 * Only the stable part of Python's C interface is used, so one library serves every Python from 3.11 on. The library is
 * loaded by ctypes, and asked for one function of Python for each kernel.
 */
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 2048  /* of the arguments of one call; the maker of the library sees to it */
#define RESULTS 16
#define VISIBLE __attribute__((visibility("default")))

typedef int32_t (*Kernel)(const int64_t *words, int64_t *results);
typedef struct { Kernel kernel; const char *takes, *gives; } Entry;

/* Return whether the processor has the instructions of these kernels. */
VISIBLE int rtmbs_runs_here(void) {
#if defined(RTMBS_V3)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2");
#elif defined(__x86_64__)
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
#else
    return 1;
#endif
}

/* What compiled kernels ask numba for: strides of a contiguous array in another shape; 0 for an array that is not. */
int numba_attempt_nocopy_reshape(Py_ssize_t rank, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t new_rank,
                                 const Py_ssize_t *new_shape, Py_ssize_t *new_strides, Py_ssize_t size, int fortran) {
    Py_ssize_t stride = size, new_stride = size;
    for (Py_ssize_t k = rank - 1; k >= 0; stride *= shape[k--])
        if (shape[k] != 1 && strides[k] != stride) return 0;
    for (Py_ssize_t k = new_rank - 1; k >= 0; new_stride *= new_shape[k--]) new_strides[k] = new_stride;
    return !fortran;
}

static int put_array(PyObject *value, int rank, int64_t **at) {
    Py_buffer view;
    if (PyObject_GetBuffer(value, &view, PyBUF_STRIDES) < 0) return -1;
    if (view.ndim != rank) {
        PyBuffer_Release(&view);
        PyErr_SetString(PyExc_TypeError, "a kernel was called with an array of another rank than it takes");
        return -1;
    }
    int64_t *words = *at;
    *words++ = (int64_t)(intptr_t)view.buf;
    *words++ = view.itemsize ? view.len / view.itemsize : 0;
    for (int k = 0; k < view.ndim; k++) *words++ = view.shape[k];
    for (int k = 0; k < view.ndim; k++) *words++ = view.strides[k];
    *at = words;
    PyBuffer_Release(&view);
    return 0;
}

static int put_float(PyObject *value, int64_t **at) {
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) return -1;
    memcpy((*at)++, &number, sizeof number);
    return 0;
}

static int put_integer(PyObject *value, int64_t **at) {
    int64_t number = PyLong_AsLongLong(value);
    *(*at)++ = number;
    return number == -1 && PyErr_Occurred() ? -1 : 0;
}

static int put_truth(PyObject *value, int64_t **at) {
    int truth = PyObject_IsTrue(value);
    *(*at)++ = truth;
    return truth < 0 ? -1 : 0;
}

static int put_struct(PyObject *value, int64_t **at) {
    PyObject *address = PyObject_GetAttrString(value, "address");
    if (!address) return -1;
    int bad = put_integer(address, at);
    Py_DECREF(address);
    return bad;
}

/* Write an argument of the kind that *takes names, and move on behind the kind. */
static int put(PyObject *value, const char **takes, int64_t **at) {
    switch (*(*takes)++) {
        case 'A': return put_array(value, *(*takes)++ - '0', at);
        case 'S': return put_struct(value, at);
        case 'd': return put_float(value, at);
        case 'i': return put_integer(value, at);
        case 'b': return put_truth(value, at);
        case '(':
            for (Py_ssize_t k = 0; **takes != ')'; k++) {
                PyObject *part = PyTuple_GetItem(value, k);
                if (!part || put(part, takes, at) < 0) return -1;
            }
            (*takes)++;
            return 0;
    }
    PyErr_SetString(PyExc_SystemError, "a kernel takes a kind of argument that is not known");
    return -1;
}

/* Return the result of the kind that *gives names. */
static PyObject *result(const char **gives, const int64_t **at) {
    double number;
    PyObject *tuple, *part;
    Py_ssize_t count = 0;
    switch (*(*gives)++) {
        case 'd': memcpy(&number, (*at)++, sizeof number); return PyFloat_FromDouble(number);
        case 'i': return PyLong_FromLongLong(*(*at)++);
        case 'b': return PyBool_FromLong(*(*at)++ != 0);
        case '(':
            while ((*gives)[count] != ')') count++;  /* tuples of numbers */
            if (!(tuple = PyTuple_New(count))) return NULL;
            for (Py_ssize_t k = 0; k < count; k++) {
                if (!(part = result(gives, at)) || PyTuple_SetItem(tuple, k, part) < 0) {
                    Py_DECREF(tuple);
                    return NULL;
                }
            }
            return tuple;
    }
    return Py_NewRef(Py_None);
}

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    Entry *entry = PyCapsule_GetPointer(self, NULL);
    if (!entry) return NULL;
    int64_t words[WORDS], results[RESULTS] = {0}, *at = words;
    const char *takes = entry->takes;
    for (Py_ssize_t k = 0; k < count && *takes; k++) {
        if (put(given[k], &takes, &at) < 0) return NULL;
    }
    if (*takes) {
        PyErr_SetString(PyExc_TypeError, "a kernel was called with another number of arguments than it takes");
        return NULL;
    }
    int32_t status;
    Py_BEGIN_ALLOW_THREADS
    status = entry->kernel(words, results);
    Py_END_ALLOW_THREADS
    if (status) {
        PyErr_SetString(PyExc_RuntimeError, "a kernel failed");
        return NULL;
    }
    const char *gives = entry->gives;
    const int64_t *from = results;
    return result(&gives, &from);
}

static PyMethodDef method = {"kernel", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};

static void forget(PyObject *capsule) {
    free(PyCapsule_GetPointer(capsule, NULL));
}

/* Return a function of Python that calls a kernel; ``takes`` and ``gives`` are kept alive by the caller. */
VISIBLE PyObject *rtmbs_function(void *kernel, const char *takes, const char *gives) {
    Entry *entry = malloc(sizeof *entry);
    if (!entry) return PyErr_NoMemory();
    *entry = (Entry){(Kernel)kernel, takes, gives};
    PyObject *capsule = PyCapsule_New(entry, NULL, forget);
    if (!capsule) {
        free(entry);
        return NULL;
    }
    PyObject *function = PyCFunction_New(&method, capsule);
    Py_DECREF(capsule);
    return function;
}
