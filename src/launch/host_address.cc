#include "launch/host_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "shardplan/base/file.h"

namespace shardplan {
namespace {

bool IsOfFamily(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes = {};
  return inet_pton(family, host.c_str(), bytes.data()) == 1;
}

// The same address is the same text: "fd00::1" of "FD00:0::1".
std::string Canonical(const std::string& ipv6) {
  in6_addr bytes = {};
  std::array<char, INET6_ADDRSTRLEN> text = {};
  inet_pton(AF_INET6, ipv6.c_str(), &bytes);
  return inet_ntop(AF_INET6, &bytes, text.data(), text.size());
}

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsOfName(char c) { return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_'; }

}  // namespace

bool IsAddress(const std::string& host) { return IsOfFamily(AF_INET, host) || IsIpv6(host); }

bool IsIpv6(const std::string& host) { return IsOfFamily(AF_INET6, host); }

Result<std::string> ReadHost(std::string_view option, const std::string& text) {
  const auto refuse = [&](std::string message, std::string hint) {
    return Fail(ErrorCode::kUsage, fmt::format("{} {}", option, Printable(text)),
                std::move(message), std::move(hint));
  };
  const bool bracketed = text.size() > 2 && text.starts_with('[') && text.ends_with(']');
  const std::string host = bracketed ? text.substr(1, text.size() - 2) : text;
  if (IsIpv6(host)) {
    const bool local = (host[0] | 0x20) == 'f' && host.size() > 3 && (host[1] | 0x20) == 'e' &&
                       std::string_view("89abAB").find(host[2]) != std::string_view::npos;
    if (!local) return Canonical(host);
    return refuse("expected an address that all nodes can reach, found a link-local one",
                  "give the address of a network that the nodes share, such as fd00::1");
  }
  if (host.find(':') != std::string::npos || bracketed) {
    return refuse("expected a host name or an address, found no address",
                  "an IPv6 address has groups of four hexadecimal digits and no %interface; a port "
                  "is an option of its own");
  }
  // Numbers and dots alone are an address or a slip of the hand.
  if (!host.empty() && host.find_first_not_of("0123456789.") == std::string::npos &&
      host.find('.') != std::string::npos && !IsAddress(host)) {
    return refuse("expected a host name or an address, found no address",
                  "an IPv4 address is four numbers up to 255");
  }
  if (!host.empty() && std::all_of(host.begin(), host.end(), IsOfName) &&
      IsLetterOrDigit(host[0])) {
    return host;
  }
  return refuse("expected a host name or an address", "");
}

Status CheckReachable(std::string_view option, const std::string& host) {
  bool own = host == "localhost";
  in_addr v4 = {};
  in6_addr v6 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    const uint32_t address = ntohl(v4.s_addr);
    const uint32_t first = address >> 24;
    own = first == 0 || first == 127 || first >= 224;  // this host, loopback, multicast and above
  } else if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    own = IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_MULTICAST(&v6);
  }
  if (!own) return {};
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", option, Printable(host)),
              "expected an address that all nodes can reach, found one of each node's own",
              "give the address of a network that the nodes share, such as 10.0.0.1");
}

std::string BeforePort(const std::string& host) {
  return host.find(':') != std::string::npos && !host.starts_with('[') ? "[" + host + "]" : host;
}

}  // namespace shardplan
