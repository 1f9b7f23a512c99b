#include "launch/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Cleaned(const std::string& command) {
  return WithoutSecrets({"--from-command", command}).at(1);
}

TEST(SecretsTest, NamesSayWhatIsOne) {
  EXPECT_TRUE(LooksSecret("HF_TOKEN"));
  EXPECT_TRUE(LooksSecret("VLLM_API_KEY"));
  EXPECT_TRUE(LooksSecret("AWS_SECRET_ACCESS_KEY"));
  EXPECT_FALSE(LooksSecret("VLLM_MAX_TOKENS_PER_EXPERT"));
  EXPECT_TRUE(IsSecretFlag("--api_key"));
  EXPECT_TRUE(IsSecretFlag("--admin-api-key"));
  EXPECT_TRUE(IsSecretFlag("--api-k"));
  EXPECT_TRUE(IsSecretFlag("--ssl-keyfile-password"));
  EXPECT_FALSE(IsSecretFlag("--ssl-keyfile"));
  EXPECT_FALSE(IsSecretFlag("--tp"));
  EXPECT_FALSE(IsSecretFlag("--port"));
}

TEST(SecretsTest, AreTakenOutOfCommands) {
  EXPECT_EQ(Cleaned("HF_TOKEN=a1 vllm serve /m -tp 8 --api-key a2 a3 --port 1"),
            "HF_TOKEN=REMOVED vllm serve /m -tp 8 --api-key REMOVED REMOVED --port 1");
  EXPECT_THAT(Cleaned("docker run -e HF_TOKEN=zz --env=K_TOKEN=zz -eX_KEY=zz vllm/vllm-openai:v1"),
              Not(HasSubstr("zz")));
  EXPECT_THAT(Cleaned("python3 -m sglang.launch_server --admin-api-key=zz --model /m"),
              Not(HasSubstr("zz")));
  EXPECT_THAT(Cleaned("bash -c 'vllm serve /m --api-key zz'"), Not(HasSubstr("zz")));
  EXPECT_THAT(Cleaned("export HF_TOKEN='z z'; vllm serve /m"), Not(HasSubstr("z z")));
  EXPECT_EQ(Cleaned("vllm serve '/a $b' --api-key 'not closed"), "REMOVED");
}

TEST(SecretsTest, WhatHoldsNoneStaysAsItIs) {
  const std::string command = "FOO=1  vllm serve \"/m m\" \\\n  --port $PORT";
  EXPECT_EQ(Cleaned(command), command);
  EXPECT_THAT(Cleaned("vllm serve \"/$X\" --api-key z"), HasSubstr("serve \"/$X\" --api-key"));
}

TEST(SecretsTest, OfTheLineItself) {
  EXPECT_THAT(WithoutSecrets({"launch", "--env", "HF_TOKEN=zz", "--env=A_KEY=zz", "--tp", "8",
                              "--from-command=X_TOKEN=zz vllm serve /m"}),
              ElementsAre("launch", "--env", "HF_TOKEN=REMOVED", "--env=A_KEY=REMOVED", "--tp", "8",
                          "--from-command=X_TOKEN=REMOVED vllm serve /m"));
}

}  // namespace
}  // namespace shardplan
