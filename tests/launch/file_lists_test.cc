#include "launch/file_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "launch/stage_cut.h"
#include "launch/stage_world.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing_support::ReadText;
using testing_support::TempDir;
using testing_support::WriteText;

class FileListsTest : public testing_support::StageWorld {
 protected:
  Result<Bundle> Make(const HubSource& hub = {}) const {
    return MakeFileLists({MakePlan(), model_, site_}, hub);
  }
};

TEST_F(FileListsTest, ShardsOfTheNodeAndWhatStandsBesideThem) {
  WriteText(dir_.Path("m/tokenizer.json"), "{}");
  WriteText(dir_.Path("m/pytorch_model.bin"), "x");
  WriteText(dir_.Path("m/x.part"), "x");
  WriteText(dir_.Path("m/.hidden"), "x");
  std::filesystem::create_directory(dir_.Path("m/figures"));
  const Result<Bundle> bundle = Make();
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  EXPECT_EQ(TextOf(*bundle, "node-1.files"),
            Shard(5) + "\n" + Shard(6) + "\n" + Shard(7) + "\n" + Shard(8) + "\n" + Shard(9) +
                "\nconfig.json\nmodel.safetensors.index.json\ntokenizer.json\n");
  EXPECT_EQ(bundle->files.size(), 3U);  // two lists and FILES.md
  uintmax_t bytes = 0;
  for (int shard = 5; shard <= 9; ++shard) {
    bytes += std::filesystem::file_size(dir_.Path("m/" + Shard(shard)));
  }
  for (const char* const name : {"config.json", "model.safetensors.index.json", "tokenizer.json"}) {
    bytes += std::filesystem::file_size(dir_.Path("m/") + name);
  }
  EXPECT_THAT(
      TextOf(*bundle, "FILES.md"),
      HasSubstr("| 1 | 1 | 5 | 3 | " + SizeText(Bytes(static_cast<int64_t>(bytes))) + " |\n"));
}

TEST_F(FileListsTest, NamesThatAListOfLinesCannotHold) {
  WriteText(dir_.Path("m/#notes.json"), "{}");
  EXPECT_THAT(TextOf(*Make(), "node-0.files"), HasSubstr("\n./#notes.json\n"));
  WriteText(dir_.Path("m/a\nb.json"), "{}");
  const Result<Bundle> bundle = Make();
  ASSERT_FALSE(bundle.has_value());
  EXPECT_THAT(bundle.error().ToString(), HasSubstr("found a line break in it"));
}

TEST_F(FileListsTest, CommandsAreQuoted) {
  site_.model_path = "/models/a $(touch x) b";
  site_.hosts = {"one", "two; rm -rf /"};
  const Result<Bundle> bundle = Make();
  ASSERT_TRUE(bundle.has_value());
  const std::string& guide = TextOf(*bundle, "FILES.md");
  EXPECT_THAT(guide, HasSubstr("--files-from=node-1.files " + dir_.Path("m/") +
                               " 'two; rm -rf /:/models/a $(touch x) b/'\n"));
  EXPECT_THAT(guide, HasSubstr(" 'one:/models/a $(touch x) b/'\n"));
  site_.model_path = "models/here";  // of which machine?
  EXPECT_THAT(TextOf(*Make(), "FILES.md"), HasSubstr(" 'one:<MODEL_PATH>/'\n"));
  site_.model_path = "/models";
  site_.hosts.clear();
  EXPECT_THAT(TextOf(*Make(), "FILES.md"), HasSubstr("'<HOST_1>:/models/"));
}

// Runs the script with a stub in the place of hf, which writes down what it was called with.
TEST_F(FileListsTest, TheScriptFetchesTheShardsOfItsNode) {
  site_.model_path = "/models/a $(touch x) 'b'";
  const Result<Bundle> bundle = Make({"moonshotai/Kimi-K3", "v 1"});
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  const TempDir run;
  run.Write("script", TextOf(*bundle, "node-0.download.sh"));
  const std::string stub =
      run.Write("bin/hf",
                "#!/bin/bash\nprintf '<%s>' \"$@\" >> \"$(dirname \"$0\")\"/../log\n"
                "echo >> \"$(dirname \"$0\")\"/../log\n");
  std::filesystem::permissions(stub, std::filesystem::perms::owner_all);
  const std::string command = "cd '" + run.path() + "' && PATH=\"$PWD/bin:$PATH\" bash script";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string options = "<download><--local-dir></models/a $(touch x) 'b'><--revision><v 1>";
  // Weights of other formats are as little wanted as in node-0.files.
  std::string excluded;
  for (const char* suffix : {"gguf", "onnx", "h5", "msgpack", "pt", "pth", "bin", "safetensors"}) {
    excluded += std::string("<--exclude><*.") + suffix + ">";
  }
  EXPECT_EQ(ReadText(run.Path("log")), options + excluded + "<--><moonshotai/Kimi-K3>\n" + options +
                                           "<--><moonshotai/Kimi-K3><" + Shard(1) + "><" +
                                           Shard(2) + "><" + Shard(3) + "><" + Shard(4) + "><" +
                                           Shard(7) + "><" + Shard(8) + "><" + Shard(9) + ">\n");
  EXPECT_FALSE(std::filesystem::exists(run.Path("x")));
  EXPECT_THAT(TextOf(*bundle, "FILES.md"), HasSubstr("from the hub, from moonshotai/Kimi-K3:"));
}

TEST_F(FileListsTest, WithoutHeadersNobodyKnows) {
  for (int shard = 1; shard <= 9; ++shard) std::filesystem::remove(dir_.Path("m/" + Shard(shard)));
  Reload();
  const Result<Bundle> bundle = Make();
  ASSERT_FALSE(bundle.has_value());
  EXPECT_EQ(bundle.error().code, ErrorCode::kInvalidInput);
}

TEST_F(FileListsTest, RepositoriesOfTheHub) {
  EXPECT_TRUE(IsRepoId("moonshotai/Kimi-K3"));
  EXPECT_TRUE(IsRepoId("01-ai/Yi-1.5_x"));
  for (const char* const text : {"", "Kimi-K3", "/models/K3", "a/b/c", "-a/b", "a/-b", "a/", "/b",
                                 "a/b c", "../b", "a/b..c", "a/$(b)"}) {
    EXPECT_FALSE(IsRepoId(text)) << text;
  }
  EXPECT_EQ(Make({"not a repo", ""}).error().code, ErrorCode::kUsage);

  Plan plan = MakePlan();
  ASSERT_FALSE(plan.launch.empty());
  EXPECT_EQ(RepoOf({plan, model_, site_}), "") << "a directory is served";
  plan.launch[0].argv = {"vllm", "serve", "moonshotai/Kimi-K3", "--port", "1"};
  EXPECT_EQ(RepoOf({plan, model_, site_}), "moonshotai/Kimi-K3");
  plan.launch[0].argv = {"python3", "-m", "sglang.launch_server", "--model-path", "a/b"};
  EXPECT_EQ(RepoOf({plan, model_, site_}), "a/b");
  model_.inventory.directory = "a/b";  // a path that looks like one
  EXPECT_EQ(RepoOf({plan, model_, site_}), "");
}

}  // namespace
}  // namespace shardplan
