// shardplan explain: the tensors, rules and arithmetic behind a total.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/from_command.h"
#include "cli/output_options.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/explain.h"
#include "shardplan/report/plan_json.h"
#include "shardplan/report/plan_table.h"

namespace shardplan::cli {
namespace {

struct ExplainOptions {
  DeploymentOptions what;
  OutputOptions output;
  int64_t rank = 0;
  Account account = Account::kWeights;
};

Status ReadAccount(const std::string& text, Account* out) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Account::kHeadroom); ++i) {
    const auto account = static_cast<Account>(i);
    if (ToString(account) == text) {
      *out = account;
      return {};
    }
    names.emplace_back(ToString(account));
  }
  const std::vector<std::string> close = CloseNames(text, names);
  return Fail(ErrorCode::kUsage, Printable(text), "expected an account of the ledger",
              close.empty() ? fmt::format("one of {}", fmt::join(names, ", "))
                            : "did you mean " + JoinWithOr(close) + "?");
}

Result<Explanation> Explain(const Context& context, const ExplainOptions& options,
                            const Plan& plan) {
  if (options.rank >= static_cast<int64_t>(plan.ranks.size())) {
    return Fail(ErrorCode::kUsage, fmt::format("--rank {}", options.rank),
                fmt::format("expected a rank from 0 to {}", plan.ranks.size() - 1));
  }
  const RankPlan& rank = plan.ranks[static_cast<size_t>(options.rank)];
  if (options.account != Account::kWeights) return ExplanationOfAccount(rank, options.account);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<WeightItem> items,
                             ExplainWeights(context.model, context.catalog, context.store,
                                            options.what.deployment, options.rank));
  return ExplanationOfWeights(rank, items);
}

// There is no rank to explain: the plan itself says why, and the answer is no.
Answer Illegal(const Plan& plan, const OutputOptions& output) {
  Answer answer;
  answer.file = output.file;
  answer.code = kExitNo;
  answer.text = output.format == Format::kJson   ? RenderPlanJson(plan)
                : output.format == Format::kYaml ? RenderPlanYaml(plan)
                                                 : RenderPlanTable(plan, TableOptions{});
  return answer;
}

Result<Answer> Run(const ExplainOptions& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Context context, LoadContext(options.what, options.output));
  SHARDPLAN_ASSIGN_OR_RETURN(const Plan plan, EvaluatePlan(context.model, context.catalog,
                                                           context.store, options.what.deployment));
  if (plan.verdict == Verdict::kIllegal) return Illegal(plan, options.output);
  SHARDPLAN_ASSIGN_OR_RETURN(const Explanation explanation, Explain(context, options, plan));
  Answer answer;
  answer.file = options.output.file;
  switch (options.output.format) {
    case Format::kTable:
      answer.text = RenderExplanationTable(explanation);
      break;
    case Format::kJson:
      answer.text = RenderExplanationJson(explanation);
      break;
    case Format::kYaml:
      answer.text = RenderExplanationYaml(explanation);
      break;
  }
  return answer;
}

}  // namespace

Command AddExplainCommand(CLI::App* parent) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* const app = AddSubcommand(
      parent, "explain",
      "The tensors, rules and arithmetic behind a rank's total\n\n"
      "Examples:\n"
      "  shardplan explain /models/Kimi-K3 --gpu h20-96 --tp 8 --pp 2 --rank 8\n"
      "  shardplan explain /models/Kimi-K3 --gpu h20-96 --tp 8 --pp 2 --rank 0 --account "
      "workspace");
  const auto set = std::make_shared<OptionSet>(app);
  set->Group("What is explained");
  set->Count("--rank", "Rank, counted from 0 (default: 0)", 0,
             [options](int64_t n) { options->rank = n; });
  set->Value("--account", "NAME", "Account of the rank's ledger (default: weights)",
             [options](const std::string& text) { return ReadAccount(text, &options->account); });
  AddDeploymentOptions(set.get(), &options->what);
  AddFromCommand(set.get(), &options->what);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
