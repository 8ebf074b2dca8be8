"""Differentiable runs as functions of JAX and of PyTorch."""

# Both libraries are asked for when a function is made; neither is known to the type checker.
# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.errors import InputError


def of_jax(run: Any) -> Callable[[Any, Any], Any]:
    """Return a differentiable run as a function of JAX."""
    try:
        import jax
    except ImportError:
        raise InputError("functions of JAX need the package; pip install 'rtmbs[jax]'") from None
    if jax.numpy.asarray(np.zeros(1)).dtype != np.float64:
        raise InputError("runs are computed in float64; call jax.config.update('jax_enable_x64', True) first")
    count, steps, controls = len(run(None, zeros(run))), run.steps + 1, len(run.controls)
    shape = jax.ShapeDtypeStruct((count,), np.float64)
    slopes = (
        shape,
        jax.ShapeDtypeStruct((count, len(run.names)), np.float64),
        jax.ShapeDtypeStruct((count, steps, controls), np.float64),
    )

    def value(p, u):
        return np.asarray(run(np.asarray(p), np.asarray(u)))

    def derivatives(p, u):
        return run.jacobians(np.asarray(p), np.asarray(u))

    @jax.custom_vjp
    def function(p, u):
        return jax.pure_callback(value, shape, p, u, vmap_method="sequential")

    def forward(p, u):
        found, by_p, by_u = jax.pure_callback(derivatives, slopes, p, u, vmap_method="sequential")
        return found, (by_p, by_u)

    def backward(kept, weights):
        by_p, by_u = kept
        return weights @ by_p, jax.numpy.tensordot(weights, by_u, 1)

    function.defvjp(forward, backward)

    def called(p=None, u=None):
        p = run.start if p is None else p
        u = jax.numpy.zeros((steps, controls)) if u is None else jax.numpy.asarray(u, np.float64)
        p = jax.numpy.asarray(p, np.float64).reshape(-1)  # gradients have the shape that the caller gave
        return function(p, u[:, None] if u.ndim == 1 else u)

    return called


def of_torch(run: Any) -> Callable[[Any, Any], Any]:
    """Return a differentiable run as a function of PyTorch."""
    try:
        import torch
    except ImportError:
        raise InputError("functions of PyTorch need the package; pip install 'rtmbs[torch]'") from None

    class Run(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx, p, u):
            found, by_p, by_u = run.jacobians(p.detach().numpy(), u.detach().numpy())
            ctx.save_for_backward(torch.from_numpy(by_p), torch.from_numpy(by_u))
            return torch.from_numpy(np.array(found))

        @staticmethod
        def backward(ctx, weights):
            if torch.is_grad_enabled():
                raise InputError("a run has first derivatives alone; leave out create_graph=True")
            by_p, by_u = ctx.saved_tensors
            return weights @ by_p, torch.tensordot(weights, by_u, 1)

    def function(p=None, u=None):
        p = torch.from_numpy(run.start) if p is None else p.reshape(-1)  # gradients have the caller's shape
        u = torch.from_numpy(zeros(run)) if u is None else u
        return Run.apply(p, u[:, None] if u.ndim == 1 else u)

    return function


def zeros(run: Any) -> Any:
    """Return controls that are zero."""
    return np.zeros((run.steps + 1, len(run.controls)))
