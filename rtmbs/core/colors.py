"""Colours of curves by theme: in the window, its pages, notebooks and figures."""

# Any two differ by 18 in CIELAB at least, the first four by 35, also in the sight of protanopes, deuteranopes and
# tritanopes; each has a contrast of 3.4 to the panel that it is drawn on.
COLORS = {
    "white": ("#0b38d2", "#d46d00", "#009c73", "#7c3391", "#000000", "#865510", "#6b85d1", "#c03149"),
    "dark": ("#8cadd0", "#e89833", "#3bed9e", "#b877ff", "#f5f5f5", "#ebe048", "#818a97", "#f0705c"),
}
