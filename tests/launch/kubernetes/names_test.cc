#include "launch/kubernetes/names.h"

#include <gtest/gtest.h>

namespace shardplan::kubernetes {
namespace {

TEST(KubernetesNamesTest, DnsLabels) {
  for (const char* good : {"a", "kimi-k3", "0a", "a--b"}) EXPECT_TRUE(IsDnsLabel(good)) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a_b", "a b", "é"}) {
    EXPECT_FALSE(IsDnsLabel(bad)) << bad;
  }
  EXPECT_TRUE(IsDnsLabel(std::string(63, 'a')));
  EXPECT_FALSE(IsDnsLabel(std::string(64, 'a')));
  EXPECT_FALSE(IsDnsLabel(std::string(51, 'a'), kLongestName));
  EXPECT_TRUE(IsDnsSubdomain("a.b-c.d"));
  EXPECT_FALSE(IsDnsSubdomain("a..b"));
  EXPECT_FALSE(IsDnsSubdomain(std::string(254, 'a')));
}

TEST(KubernetesNamesTest, MakesALabelOfAnything) {
  EXPECT_EQ(MakeDnsLabel("Kimi-K3"), "kimi-k3");
  EXPECT_EQ(MakeDnsLabel("  Qwen2.5_72B (new) "), "qwen2-5-72b-new");
  EXPECT_EQ(MakeDnsLabel("0x"), "m-0x");
  EXPECT_EQ(MakeDnsLabel("模型"), "model");
  EXPECT_EQ(MakeDnsLabel(""), "model");
  const std::string longest = MakeDnsLabel(std::string(49, 'a') + "--b");
  EXPECT_EQ(longest, std::string(49, 'a'));
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_TRUE(IsDnsLabel(MakeDnsLabel("a" + std::string(1, static_cast<char>(byte)) + "1")));
  }
  EXPECT_TRUE(IsDnsLabel(MakeDnsLabel(std::string(200, '9')), kLongestName));
}

TEST(KubernetesNamesTest, LabelsAndResources) {
  EXPECT_TRUE(IsQualifiedName("nvidia.com/gpu.product"));
  EXPECT_TRUE(IsQualifiedName("role"));
  for (const char* bad : {"", "/x", "a/", "a/b/c", "A/b", "x y", "a/-b"}) {
    EXPECT_FALSE(IsQualifiedName(bad)) << bad;
  }
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue("NVIDIA-H20_3e.x"));
  for (const char* bad : {"-a", "a-", "a b", "a:b"}) EXPECT_FALSE(IsLabelValue(bad)) << bad;
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
}

TEST(KubernetesNamesTest, Paths) {
  for (const char* good : {"/m", "/models/Kimi K3", "/m/", "/a$(b)", "/modèle", "/a..b"}) {
    EXPECT_TRUE(CheckMountPath("--x", good).has_value()) << good;
  }
  for (const char* bad :
       {"", "m", "/", "//", "/a//b", "/a/../b", "/a/.", "/a:b", "/a\nb", "/a\xff"}) {
    EXPECT_FALSE(CheckMountPath("--x", bad).has_value()) << bad;
  }
  EXPECT_EQ(CheckMountPath("--mount", "a\x1b").error().ToString(),
            "--mount: expected an absolute path without '..', ':' or control characters, found "
            "'a\\x1b'");
  EXPECT_TRUE(CheckRelativePath("--x", "a/b c").has_value());
  for (const char* bad : {"", "/a", "../a", "a/", "a:b"}) {
    EXPECT_FALSE(CheckRelativePath("--x", bad).has_value()) << bad;
  }
}

TEST(KubernetesNamesTest, KeysOfSecrets) {
  for (const char* good : {"api-key", "A_1.txt", ".k"}) EXPECT_TRUE(IsSecretKey(good)) << good;
  for (const char* bad : {"", ".", "..", "a b", "a/b", "$(x)"}) EXPECT_FALSE(IsSecretKey(bad));
  EXPECT_FALSE(IsSecretKey(std::string(254, 'a')));
}

TEST(KubernetesNamesTest, Images) {
  EXPECT_TRUE(CheckImage("registry.local:5000/a/b:v1@sha256:00").has_value());
  for (const char* bad : {"", "a b", "$(x)", ":v1", "a:", "a\n"}) {
    EXPECT_FALSE(CheckImage(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace shardplan::kubernetes
