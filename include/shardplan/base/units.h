// Decimal and binary units: different types on the way in, named on the way out.
#ifndef SHARDPLAN_BASE_UNITS_H_
#define SHARDPLAN_BASE_UNITS_H_

#include <string>
#include <string_view>

#include "shardplan/base/bytes.h"
#include "shardplan/base/result.h"

namespace shardplan {

// One million, one billion … bytes (what a data sheet or a disk means).
class Gigabytes {
 public:
  explicit constexpr Gigabytes(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  Bytes ToBytes() const;  // rounds to the nearest byte; throws SizeOverflow

 private:
  double value_;
};

// 2^30 bytes (what CUDA, PyTorch and the engines mean, even where they print "GB").
class Gibibytes {
 public:
  explicit constexpr Gibibytes(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  Bytes ToBytes() const;  // truncates, as vLLM's int(gb * 1024**3) does; throws SizeOverflow

 private:
  double value_;
};

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kTiB = int64_t{1} << 40;

Gibibytes InGiB(Bytes size);
Gigabytes InGB(Bytes size);

// "95.577 GiB", "-3.250 GiB", "1.493 TiB", "97,871 MiB", "1,560,936,091,448 B". The unit is always
// part of the text.
std::string FormatGiB(Bytes size, int decimals = 3);
std::string FormatTiB(Bytes size, int decimals = 3);
std::string FormatMiB(Bytes size);
std::string FormatBytes(Bytes size);

// The largest of B, KiB, MiB and GiB in which the size is at least one: "32.156 GiB", "75.5 MiB",
// "512 B". Never TiB, so that numbers about cards stay comparable.
std::string FormatAuto(Bytes size);

// "497,220": digits in groups of three.
std::string FormatCount(int64_t count);

// Parses a byte size. The unit is required and decides: B, KiB, MiB, GiB, TiB are binary; kB, KB,
// MB, GB, TB decimal. "32GiB", "32 GB", "0.5TiB"; a fraction of a byte is rounded. A bare number is
// an error that says so.
Result<Bytes> ParseBytes(std::string_view text);

// Parses a count of tokens the way vLLM's human-readable integers do: K, M, G, T are powers of
// 1,024 and k, m, g, t powers of 1,000. "512K" is 524,288, "512k" is 512,000, "25.6k" is 25,600. A
// fraction needs a decimal suffix; what is left of a token is dropped.
// Source: vllm/engine/arg_utils.py:human_readable_int (v0.28).
Result<int64_t> ParseTokenCount(std::string_view text);

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_UNITS_H_
