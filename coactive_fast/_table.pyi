from typing import TypedDict, type_check_only

@type_check_only
class _Isa(TypedDict):
    chosen: str
    fused_multiply_add: bool
    runnable: list[str]
    built: list[str]
    machine: str

@type_check_only
class _Build(TypedDict):
    compiler: str
    optimized: bool
    abi: int

def isa() -> _Isa: ...
def build() -> _Build: ...
