// Hosts as people give them: names, IPv4 and IPv6 addresses.
#ifndef SHARDPLAN_LAUNCH_HOST_ADDRESS_H_
#define SHARDPLAN_LAUNCH_HOST_ADDRESS_H_

#include <string>
#include <string_view>

#include "shardplan/base/result.h"

namespace shardplan {

// Whether it is an IPv4 or IPv6 address, and no name.
bool IsAddress(const std::string& host);

// Whether it is an IPv6 address, without brackets.
bool IsIpv6(const std::string& host);

// The host of an option's value, which lands in URLs, scheduler lines and engine arguments; an IPv6
// address in its shortest form, without the brackets that it may stand in. Fails with kUsage for
// what is neither a name nor an address.
Result<std::string> ReadHost(std::string_view option, const std::string& text);

// Fails with kUsage for a host that is each node's own: loopback, the unspecified address, or a
// group of them. Other nodes cannot reach it.
Status CheckReachable(std::string_view option, const std::string& host);

// As it stands in front of a port: "[fd00::1]", "10.0.0.1".
std::string BeforePort(const std::string& host);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_HOST_ADDRESS_H_
