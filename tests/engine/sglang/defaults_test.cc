#include "engine/sglang/defaults.h"

#include <gtest/gtest.h>

#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

constexpr const char* kMha = "Qwen__Qwen3-8B";
constexpr const char* kMla = "deepseek-ai__DeepSeek-V2-Lite";

struct Card {
  const char* name;
  int64_t mib;
  int capability;
};
struct Row {
  Card card;
  double mha1, mla1, mha8, mla8;
  double mha1_mib, mla1_mib, mha8_mib, mla8_mib;
};
// Eleven cards: TP 1 and TP 8, MHA and MLA, text models, prefill graphs on, no DP attention.
constexpr Row kRows[] = {
    {{"RTX4090", 24564, 89}, .833, .784, .792, .743, 4096, 5296, 5104, 6304},
    {{"RTX5090", 32607, 120}, .874, .838, .843, .807, 4096, 5296, 5104, 6304},
    {{"A100-40", 40960, 80}, .823, .795, .795, .767, 7248, 8384, 8400, 9536},
    {{"L40S", 46068, 89}, .843, .818, .818, .793, 7248, 8384, 8400, 9536},
    {{"H100-80", 81559, 90}, .830, .816, .812, .799, 13904, 14976, 15312, 16384},
    {{"H20-96", 97871, 90}, .858, .847, .844, .833, 13904, 14976, 15312, 16384},
    {{"H200", 143771, 90}, .903, .896, .893, .886, 13904, 14976, 15312, 16384},
    {{"B200", 183359, 100}, .854, .849, .849, .844, 26832, 27776, 27728, 28672},
    {{"MI300X", 196592, 0}, .864, .859, .859, .854, 26832, 27776, 27728, 28672},
    {{"B300", 275040, 103}, .902, .899, .899, .896, 26832, 27776, 27728, 28672},
    {{"MI355X", 294896, 0}, .909, .906, .906, .903, 26832, 27776, 27728, 28672},
};

Defaults Of(const char* model, const Card& card, int64_t tp) {
  SglangContext c(model);
  c.Card(card.mib, card.capability);
  c.args().tp_size = tp;
  c.args().prefill_graph = PrefillGraph::kBreakable;
  c.args().attention_backend = "triton";  // aiter would take its 15 % off
  return ResolveDefaults(c.context);
}

TEST(SglangDefaults, FractionsOfElevenCards) {
  for (const Row& row : kRows) {
    const auto check = [&](const char* model, int64_t tp, double fraction, double mib) {
      const Defaults d = Of(model, row.card, tp);
      EXPECT_DOUBLE_EQ(d.mem_fraction_static, fraction) << row.card.name << " TP " << tp;
      EXPECT_DOUBLE_EQ(d.reserved_mib, mib) << row.card.name << " TP " << tp;
      double sum = 0;
      for (const ReserveTerm& term : d.terms) sum += term.mib;
      EXPECT_DOUBLE_EQ(sum, mib) << row.card.name;
    };
    check(kMha, 1, row.mha1, row.mha1_mib);
    check(kMla, 1, row.mla1, row.mla1_mib);
    check(kMha, 8, row.mha8, row.mha8_mib);
    check(kMla, 8, row.mla8, row.mla8_mib);
  }
}

TEST(SglangDefaults, AmdCardsHaveNoPrefillGraphsAndAiterTakesMore) {
  const auto of = [](int64_t mib, int64_t tp, const char* backend) {
    SglangContext c(kMha);
    c.Card(mib, 0);
    c.args().tp_size = tp;
    if (backend) c.args().attention_backend = backend;
    return ResolveDefaults(c.context);
  };
  EXPECT_DOUBLE_EQ(of(196592, 1, "triton").mem_fraction_static, .867);
  EXPECT_DOUBLE_EQ(of(196592, 8, "triton").mem_fraction_static, .862);
  EXPECT_DOUBLE_EQ(of(294896, 1, "triton").mem_fraction_static, .911);
  EXPECT_DOUBLE_EQ(of(294896, 8, "triton").mem_fraction_static, .908);
  // The default backend there, and a context of more than 8,192.
  EXPECT_DOUBLE_EQ(of(294896, 1, nullptr).mem_fraction_static, .911 * .85);

  SglangContext given(kMha);
  given.Card(294896, 0);
  given.args().mem_fraction_static = 0.9;
  EXPECT_DOUBLE_EQ(ResolveDefaults(given.context).mem_fraction_static, .9 * .85);
  given.args().context_length = 8192;
  EXPECT_DOUBLE_EQ(ResolveDefaults(given.context).mem_fraction_static, .9);
  EXPECT_TRUE(ResolveDefaults(given.context).terms.empty());
}

TEST(SglangDefaults, DpAttentionReservesMore) {
  SglangContext c(kMla);
  c.args().tp_size = 8;
  c.args().enable_dp_attention = true;
  const auto at = [&](int64_t dp) {
    c.args().dp_size = dp;
    return ResolveDefaults(c.context);
  };
  EXPECT_DOUBLE_EQ(at(2).mem_fraction_static, .854);
  EXPECT_DOUBLE_EQ(at(4).mem_fraction_static, .822);
  EXPECT_DOUBLE_EQ(at(8).mem_fraction_static, .758);
  // The chunk is divided after the fraction has been made up from the whole of it.
  EXPECT_EQ(at(8).chunked_prefill_size, 1024);
  c.args().moe_a2a_backend = "deepep";
  EXPECT_DOUBLE_EQ(at(8).mem_fraction_static, .736);
}

TEST(SglangDefaults, KimiK3) {
  const auto of = [](const Card& card, int64_t tp, int64_t pp, int64_t dcp) {
    SglangContext c("kimi-k3");
    c.Card(card.mib, card.capability);
    c.args().tp_size = tp;
    c.args().pp_size = pp;
    c.args().dcp_size = dcp;
    return ResolveDefaults(c.context);
  };
  constexpr Card kB300 = {"B300", 275040, 103};
  EXPECT_NEAR(of(kB300, 8, 1, 1).mem_fraction_static, .8406, 5e-5);
  EXPECT_NEAR(of(kB300, 8, 1, 8).mem_fraction_static, .8453, 5e-5);
  EXPECT_NEAR(of({"H200", 143771, 90}, 16, 1, 1).mem_fraction_static, .8246, 5e-5);
  EXPECT_NEAR(of({"H100", 81559, 90}, 32, 1, 1).mem_fraction_static, .7139, 5e-5);
  EXPECT_NEAR(of({"B200", 183359, 100}, 8, 2, 1).mem_fraction_static, .7861, 5e-5);
  EXPECT_DOUBLE_EQ(of(kB300, 8, 1, 1).vision_factor, .938125);
  EXPECT_EQ(of(kB300, 8, 1, 1).attention_backend, "trtllm_mla");
  EXPECT_EQ(of(kB300, 8, 1, 1).page_size, 64);

  SglangContext decode("kimi-k3");
  decode.Card(kB300.mib, kB300.capability);
  decode.args().tp_size = 8;
  decode.args().disaggregation_mode = Disaggregation::kDecode;
  EXPECT_DOUBLE_EQ(ResolveDefaults(decode.context).mem_fraction_static, .963);
}

// "The automatic fraction (0.77) fails": a public log of eight H20-96 with v0.5.12.
TEST(SglangDefaults, KimiK26OnH20OfMay2026) {
  SglangContext c("moonshotai__Kimi-K2.5", "0.5.12");
  c.Card(97871, 90);
  c.args().tp_size = 8;
  c.args().prefill_graph = PrefillGraph::kDisabled;
  EXPECT_NEAR(ResolveDefaults(c.context).mem_fraction_static, .77, .005);
}

TEST(SglangDefaults, OlderReleases) {
  const auto of = [](const char* version, int64_t mib, int64_t tp, const char* draft) {
    SglangContext c(kMha, version);
    c.Card(mib, 90);
    c.args().tp_size = tp;
    c.args().speculative_algorithm = draft;
    return ResolveDefaults(c.context);
  };
  EXPECT_DOUBLE_EQ(of("0.4.3", 81559, 1, "").mem_fraction_static, .88);
  EXPECT_DOUBLE_EQ(of("0.4.3", 81559, 8, "").mem_fraction_static, .81);
  EXPECT_DOUBLE_EQ(of("0.4.3", 81559, 16, "").mem_fraction_static, .79);
  EXPECT_EQ(of("0.4.3", 24564, 1, "").chunked_prefill_size, 2048);
  EXPECT_EQ(of("0.4.3", 81559, 1, "").decode_graphs.back(), 160);
  // 9.5 GiB and half the ranks.
  EXPECT_DOUBLE_EQ(of("0.4.9", 81559, 8, "").reserved_mib, 13.5 * 1024);
  EXPECT_DOUBLE_EQ(of("0.4.9", 81559, 8, "EAGLE").reserved_mib, 15.5 * 1024);
  EXPECT_DOUBLE_EQ(of("0.4.9", 196592, 8, "").reserved_mib, 32 * 1024);
  EXPECT_EQ(of("0.4.9", 143771, 8, "").decode_graphs.back(), 256);
  // Terms, with a draft model on top of the floor and without prefill graphs.
  EXPECT_DOUBLE_EQ(of("0.5.4", 81559, 8, "EAGLE").reserved_mib, 512 + 12288 + 1024 + 1024 + 2048);
}

TEST(SglangDefaults, SettingsAndOrder) {
  SglangContext c(kMha);
  c.args().chunked_prefill_size = -1;
  Defaults d = ResolveDefaults(c.context);
  EXPECT_EQ(d.chunked_prefill_size, -1);
  EXPECT_DOUBLE_EQ(d.terms[1].mib, 1.5 * 16384);
  c.args().chunked_prefill_size = 1024;  // activations are planned for 2,048 at least
  EXPECT_DOUBLE_EQ(ResolveDefaults(c.context).terms[1].mib, 1.5 * 2048);
  c.args().max_total_tokens = 512;
  EXPECT_EQ(ResolveDefaults(c.context).prefill_graphs.back(), 512);

  SglangContext small(kMha);
  small.args().cuda_graph_bs = {1, 2, 64};
  d = ResolveDefaults(small.context);
  EXPECT_EQ(d.decode_graphs.back(), 64);
  EXPECT_DOUBLE_EQ(d.terms[3].mib, 128);
  small.args().disable_cuda_graph = true;
  EXPECT_TRUE(ResolveDefaults(small.context).decode_graphs.empty());

  SglangContext spec(kMha);
  EXPECT_EQ(ResolveDefaults(spec.context).max_running_requests, 0);
  spec.args().speculative_algorithm = "EAGLE3";
  EXPECT_EQ(ResolveDefaults(spec.context).max_running_requests, 48);

  SglangContext symm(kMha);
  symm.args().enable_symm_mem = true;
  EXPECT_DOUBLE_EQ(ResolveDefaults(symm.context).symm_mem_gib, 4);
}

TEST(SglangDefaults, UnknownCard) {
  for (const auto& [version, fraction] :
       std::initializer_list<std::pair<const char*, double>>{{"0.5.17", .88}, {"0.5.18", .95}}) {
    SglangContext c(kMha, version);
    c.Card(0, 90);
    const Defaults d = ResolveDefaults(c.context);
    EXPECT_DOUBLE_EQ(d.mem_fraction_static, fraction);
    EXPECT_EQ(d.chunked_prefill_size, 4096);
    EXPECT_EQ(d.decode_graphs.back(), 160);
  }
}

TEST(SglangDefaults, Pages) {
  SglangContext c(kMha);
  const Profile& profile = *c.context.profile;
  EXPECT_EQ(PageSizeOf(profile, "fa3", 1), 1);
  EXPECT_EQ(PageSizeOf(profile, "flashmla", 1), 64);
  EXPECT_EQ(PageSizeOf(profile, "cutlass_mla", 64), 128);
  EXPECT_EQ(PageSizeOf(profile, "trtllm_mla", 32), 32);
  EXPECT_EQ(PageSizeOf(profile, "trtllm_mha", 128), 128);
  EXPECT_EQ(PageSizeOf(profile, "trtllm_mha", 1), 64);
  EXPECT_EQ(PageSizeOf(profile, "dsv4", 1), 256);
  EXPECT_EQ(ResolveDefaults(c.context).attention_backend, "fa3");
  c.Card(183359, 100);
  EXPECT_EQ(ResolveDefaults(c.context).attention_backend, "trtllm_mha");
  EXPECT_EQ(ResolveDefaults(c.context).page_size, 64);
  c.Card(81920, 80);
  EXPECT_EQ(ResolveDefaults(c.context).attention_backend, "flashinfer");
}

// DeepSeek-V3's class on TensorRT-LLM's kernel: the fraction keeps the graphs' share, none is
// captured.
TEST(SglangDefaults, PrefillGraphsThatAreSwitchedOffLate) {
  SglangContext c("deepseek-v3");
  c.Card(183359, 100);
  c.args().tp_size = 8;
  const Defaults d = ResolveDefaults(c.context);
  EXPECT_DOUBLE_EQ(d.mem_fraction_static, .844);
  EXPECT_EQ(d.prefill_graph, PrefillGraph::kDisabled);
  EXPECT_TRUE(d.prefill_graphs.empty());
  c.args().decode_attention_backend = "cutlass_mla";
  EXPECT_EQ(ResolveDefaults(c.context).prefill_graph, PrefillGraph::kBreakable);
}

// Tokens of no whole pages on four GB200 (v0.5.3): trtllm_mha was no default yet.
TEST(SglangDefaults, BackendsByVersion) {
  struct Backend {
    const char* version;
    const char* example;
    int capability;
    const char* backend;
  };
  const Backend rows[] = {{"0.5.3", kMha, 100, "flashinfer"},
                          {"0.5.6", kMha, 100, "flashinfer"},
                          {"0.5.7", kMha, 100, "trtllm_mha"},
                          {"0.4.5", kMha, 90, "flashinfer"},
                          {"0.4.6", kMha, 90, "fa3"},
                          {"0.4.5", "deepseek-v3", 90, "triton"},
                          {"0.4.6", "deepseek-v3", 90, "fa3"},
                          {"0.4.9", "deepseek-v3", 100, "triton"},
                          {"0.5.17", "deepseek-v3", 100, "trtllm_mla"}};
  for (const Backend& row : rows) {
    SglangContext c(row.example, row.version);
    c.Card(143771, row.capability);
    EXPECT_EQ(DefaultAttentionBackend(c.context), row.backend) << row.version << " " << row.example;
  }
}

}  // namespace
}  // namespace shardplan::sglang
