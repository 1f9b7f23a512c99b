// Element types of a safetensors file, measured in bits.
#ifndef SHARDPLAN_CHECKPOINT_DTYPE_H_
#define SHARDPLAN_CHECKPOINT_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardplan {

// The names are the safetensors spellings (safetensors 0.6, tensor.rs).
enum class DType : uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

// Bits of one element: 4 for F4, 6 for F6_*, 8 for BOOL and U8, … 64.
int BitsOf(DType dtype);

// "BF16", "F8_E4M3", "F4" …
std::string_view NameOf(DType dtype);

// The inverse of NameOf; nothing for an unknown name.
std::optional<DType> ParseDType(std::string_view name);

}  // namespace shardplan

#endif  // SHARDPLAN_CHECKPOINT_DTYPE_H_
