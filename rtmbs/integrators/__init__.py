"""Time stepping. Nothing here knows mechanics: an integrator is handed an object that answers a short contract."""
