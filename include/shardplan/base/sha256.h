// SHA-256 (FIPS 180-4), to name the very text that something was made from.
#ifndef SHARDPLAN_BASE_SHA256_H_
#define SHARDPLAN_BASE_SHA256_H_

#include <string>
#include <string_view>

namespace shardplan {

// 64 lowercase hexadecimal digits, as `sha256sum` prints them.
std::string Sha256(std::string_view text);

}  // namespace shardplan

#endif  // SHARDPLAN_BASE_SHA256_H_
