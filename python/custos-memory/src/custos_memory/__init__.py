"""Client of Custos, governed memory for AI agents."""

from ._client import AsyncCustos, Custos
from ._errors import ApiError, ConnectionFailed, CustosError
from ._memory_of import AsyncMemoryOf, MemoryOf

__all__ = [
    "ApiError",
    "AsyncCustos",
    "AsyncMemoryOf",
    "ConnectionFailed",
    "Custos",
    "CustosError",
    "MemoryOf",
]
