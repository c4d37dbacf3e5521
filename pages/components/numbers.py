"""How numbers read on every screen: grouped thousands, a unit always, no more digits than mean something."""

from datetime import UTC, datetime


def count(value: int | float) -> str:
    """`913,786`: exact, with grouped thousands."""
    return f"{round(value):,}"


def short(value: int | float | None) -> str:
    """`1.42 M`: three figures, for headlines; `–` where unknown."""
    if value is None:
        return "–"
    for limit, suffix in ((1e9, " B"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if suffix == ' k' else limit):.3g}{suffix}"
    return count(value)


def percent(share: float | None, digits: int = 1) -> str:
    """`40.6 %`, kept on one line; `–` where unknown."""
    return "–" if share is None else f"{share * 100:.{digits}f}\u00a0%"


def plural(value: int, noun: str, many: str | None = None) -> str:
    """`1 row`, `2,311 rows`."""
    return f"{count(value)} {noun if value == 1 else many or noun + 's'}"


def duration(seconds: float | None) -> str:
    """`8 s`, `2 min 05 s`, `1 h 12 min`; `–` where unknown."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(octets: int) -> str:
    """`2.6 GB`, in powers of ten as disks are sold."""
    value = float(octets)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def moment(timestamp: float | None) -> str:
    """`30 Nov, 22:04` (UTC); `–` where unknown."""
    if timestamp is None:
        return "–"
    return datetime.fromtimestamp(timestamp, UTC).strftime("%d %b, %H:%M").lstrip("0")
