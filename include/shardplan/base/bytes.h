// A number of bytes, as a type of its own.
#ifndef SHARDPLAN_BASE_BYTES_H_
#define SHARDPLAN_BASE_BYTES_H_

#include <compare>
#include <cstdint>
#include <stdexcept>

namespace shardplan {

// Thrown when byte or element arithmetic leaves 64 bits. Sizes that come from a file are bounded by
// the readers before they get here, so this is the second line of defence; the command line turns
// it into one line of bad input (exit code 3).
class SizeOverflow : public std::overflow_error {
 public:
  SizeOverflow() : std::overflow_error("a size does not fit in 64 bits") {}
};

namespace internal {
inline int64_t CheckedAdd(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) throw SizeOverflow();
  return out;
}
inline int64_t CheckedSub(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_sub_overflow(a, b, &out)) throw SizeOverflow();
  return out;
}
inline int64_t CheckedMul(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) throw SizeOverflow();
  return out;
}
}  // namespace internal

// Bytes is a signed count of bytes. Only a difference (a headroom) may be negative.
//
// Arithmetic is exact and checked: bytes ± bytes, bytes × count, bytes ÷ bytes → count (floor).
// There is no implicit conversion from or to integers, and none from or to Gigabytes and Gibibytes
// (units.h), so GB and GiB cannot be mixed by accident.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(int64_t count) : count_(count) {}

  constexpr int64_t count() const { return count_; }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;

  friend Bytes operator+(Bytes a, Bytes b) {
    return Bytes(internal::CheckedAdd(a.count_, b.count_));
  }
  friend Bytes operator-(Bytes a, Bytes b) {
    return Bytes(internal::CheckedSub(a.count_, b.count_));
  }
  friend Bytes operator-(Bytes a) { return Bytes() - a; }
  friend Bytes operator*(Bytes a, int64_t n) { return Bytes(internal::CheckedMul(a.count_, n)); }
  friend Bytes operator*(int64_t n, Bytes a) { return a * n; }
  Bytes& operator+=(Bytes b) { return *this = *this + b; }
  Bytes& operator-=(Bytes b) { return *this = *this - b; }

  // How many whole `b` fit in `a`. Requires b > 0; rounds toward minus infinity, so a negative
  // remainder yields a negative number of blocks, as vLLM's `//` does.
  friend int64_t FloorDiv(Bytes a, Bytes b);

 private:
  int64_t count_ = 0;
};

// Integer helpers; `b` must be positive, `a` not negative.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
inline int64_t RoundUp(int64_t a, int64_t b) { return internal::CheckedMul(CeilDiv(a, b), b); }

inline int64_t FloorDiv(Bytes a, Bytes b) {
  int64_t q = a.count() / b.count();
  if (a.count() % b.count() != 0 && a.count() < 0) --q;
  return q;
}

// The smallest power of two that is at least `size`; zero stays zero.
Bytes NextPowerOfTwo(Bytes size);

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_BYTES_H_
