"""What a call raises. No error holds a credential."""

from __future__ import annotations

from typing import Any


class CustosError(Exception):
    """Any error of this package."""


class ConnectionFailed(CustosError):
    """There was no answer."""


class ApiError(CustosError):
    """The service refused: `code` says why, `detail` says more."""

    def __init__(
        self,
        operation: str,
        status: int,
        body: Any,
        *,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        members = body if isinstance(body, dict) else {}
        self.operation = operation
        self.status = status
        self.code: str = members.get("error") or ("bad_request" if status < 500 else "unavailable")
        self.detail = _detail(members.get("detail"))
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.body = body
        super().__init__(f"{operation}: {status} {self.code}: {self.detail}".rstrip(": "))


def _detail(detail: Any) -> str:
    if isinstance(detail, list):
        return "; ".join(
            f"{'.'.join(str(part) for part in one.get('loc', []))}: {one.get('msg')}" for one in detail
        )
    return "" if detail is None else str(detail)
