#include "launch/host_address.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(HostAddressTest, AddressesAreNoNames) {
  for (const char* address : {"10.0.0.1", "::1", "::", "fd00::1", "2001:db8::10.0.0.1"}) {
    EXPECT_TRUE(IsAddress(address)) << address;
  }
  for (const char* name : {"", "node-0", "10.0.0", "10.0.0.256", "[::1]", "fe80::1%eth0", "::g"}) {
    EXPECT_FALSE(IsAddress(name)) << name;
  }
  EXPECT_TRUE(IsIpv6("::ffff:10.0.0.1"));
  EXPECT_FALSE(IsIpv6("10.0.0.1"));
}

TEST(HostAddressTest, BracketsAreOfPorts) {
  EXPECT_EQ(BeforePort("fd00::1"), "[fd00::1]");
  EXPECT_EQ(BeforePort("[fd00::1]"), "[fd00::1]");
  EXPECT_EQ(BeforePort("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(BeforePort("node-0.cluster"), "node-0.cluster");
  EXPECT_EQ(ReadHost("--host", "[fd00::1]").value(), "fd00::1");
  EXPECT_EQ(ReadHost("--host", "fd00::1").value(), "fd00::1");
  EXPECT_EQ(ReadHost("--host", "FD00:0:0::0001").value(), "fd00::1");
}

std::string Problem(const std::string& text) {
  const auto host = ReadHost("--host", text);
  return host ? "" : host.error().ToString();
}

TEST(HostAddressTest, EachNodesOwnIsReachedByNoOther) {
  for (const char* own : {"localhost", "127.0.0.1", "127.8.8.8", "0.0.0.0", "224.0.0.1",
                          "255.255.255.255", "::1", "::", "ff02::1"}) {
    const Status status = CheckReachable("--master-addr", own);
    ASSERT_FALSE(status.has_value()) << own;
    EXPECT_EQ(status.error().ToString(),
              std::string("--master-addr ") + own +
                  ": expected an address that all nodes can reach, found one of each node's own; "
                  "give the address of a network that the nodes share, such as 10.0.0.1");
  }
  for (const char* shared : {"node-0", "10.0.0.1", "128.0.0.1", "fd00::1"}) {
    EXPECT_TRUE(CheckReachable("--master-addr", shared).has_value()) << shared;
  }
}

TEST(HostAddressTest, WhatIsNeitherNameNorAddressIsRefused) {
  EXPECT_EQ(Problem("node_0"), "");
  EXPECT_EQ(Problem("FD00::1"), "");
  EXPECT_EQ(Problem("10.0.0.256"),
            "--host 10.0.0.256: expected a host name or an address, found no address; an IPv4 "
            "address is four numbers up to 255");
  for (const char* text : {"node-0:8000", "10.0.0.1:8000", "[node-0]", "[fd00::1]:8000",
                           "fd00::1%eth0", "fe80::1%eth0", "fd00::12345"}) {
    EXPECT_EQ(Problem(text),
              std::string("--host ") + text +
                  ": expected a host name or an address, found no address; an IPv6 address has "
                  "groups of four hexadecimal digits and no %interface; a port is an option of its "
                  "own");
  }
  for (const char* text : {"fe80::1", "[FE80::1]", "febf::1"}) {
    EXPECT_EQ(Problem(text), std::string("--host ") + text +
                                 ": expected an address that all nodes can reach, found a "
                                 "link-local one; give the address of a network that the nodes "
                                 "share, such as fd00::1");
  }
  for (const char* text : {"", "-x", "a b", "a$(b)", "a;b", "[", "]", "ü", "a\nb", "_a"}) {
    EXPECT_NE(Problem(text), "") << text;
  }
}

}  // namespace
}  // namespace shardplan
