"""Client of Custos, governed memory for AI agents."""

from ._client import AsyncCustos, Custos
from ._errors import ApiError, ConnectionFailed, CustosError

__all__ = ["ApiError", "AsyncCustos", "ConnectionFailed", "Custos", "CustosError"]
